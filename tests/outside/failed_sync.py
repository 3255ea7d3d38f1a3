"""A sync that fails on a real kernel, and a power cut after it.

    python3 tests/outside/failed_sync.py target/debug/hcert [ROUNDS] [kill]

As root, on Linux with loop devices. The data folder lies on ext4, that on a loop device, and that on a file in a tmpfs which is filled up:
from then on new places of the device cannot be written. Once a write was refused the room is given back (with `kill` the server is killed
first, and started again), and more certificates are created. A copy of the file at that moment is what a power cut would leave. A server
opens it and has to give back every certificate that was acknowledged.

Exit code 0 when nothing was lost in any round.
"""

import http.client
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BODY = (pathlib.Path(__file__).parents[2] / "examples/driver-draft.json").read_bytes()
IMAGE_MB = 200
# Of the image: where file system and journal lie, which can be written all the time.
KEPT_MB = [*range(0, 8), *range(60, IMAGE_MB)]
ROOM_LEFT_BYTES = 96 * 1024


def run(*command, may_fail=False):
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode and not may_fail:
        raise SystemExit(f"{' '.join(map(str, command))}: {ran.stderr}")
    return ran.stdout.strip()


class Server:
    """A running server, or none where it does not start."""

    def __init__(self, binary, data, log):
        settings = {"HCERT__MANAGEMENT__LISTEN": "", "HCERT__LOG__LEVEL": "warn", "HCERT__AUDIT__FILE_MB": "1"}
        command = [binary, "dev", "--listen", "127.0.0.1:0", "--data", str(data)]
        with open(log, "a") as said:
            self.process = subprocess.Popen(
                command, cwd=log.parent, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=said, text=True
            )
        first = self.process.stdout.readline()
        self.address = first.split("http://")[1].strip().split("/")[0] if "http://" in first else None
        self.client = self.address and http.client.HTTPConnection(self.address, timeout=60)

    def ask(self, method, path, body=None):
        self.client.request(method, f"/fhir/Composition{path}", body, {"Content-Type": "application/fhir+json"})
        answer = self.client.getresponse()
        answer.read()
        location = answer.getheader("location") or ""
        return answer.status, location.partition("/Composition/")[2].partition("/")[0]

    def create(self, count, acknowledged):
        """How many were acknowledged."""
        done = [id for status, id in (self.ask("POST", "", BODY) for _ in range(count)) if status == 201]
        acknowledged += done
        return len(done)

    def kill(self):
        self.process.kill()
        self.process.wait()


def play(binary, place, kills):
    """One round: certificates acknowledged, and how many of them were lost; None when the store met no failure."""
    server = None
    disk, seen, image, cut, log = (place / name for name in ("disk", "seen", "disk/image", "cut", "log"))
    for folder in (disk, seen):
        folder.mkdir()
    undo = []
    try:
        run("mount", "-t", "tmpfs", "-o", "size=260m", "tmpfs", disk)
        undo.append(("umount", disk))
        run("truncate", "-s", f"{IMAGE_MB}M", image)
        device = run("losetup", "-f", "--show", image)
        undo.append(("losetup", "-d", device))
        run("mkfs.ext4", "-q", "-b", "1024", "-J", "size=8", "-E", "nodiscard,lazy_itable_init=0", device)
        with open(image, "r+b") as bytes_of:
            for megabyte in KEPT_MB:
                held = os.pread(bytes_of.fileno(), 1 << 20, megabyte << 20)
                os.pwrite(bytes_of.fileno(), held, megabyte << 20)
        run("mount", device, seen)
        undo.append(("umount", seen))

        acknowledged, server = [], Server(binary, seen / "data", log)
        server.create(200, acknowledged)
        os.sync()
        room = os.statvfs(disk)
        (disk / "filler").write_bytes(b"x" * (room.f_bavail * room.f_frsize - ROOM_LEFT_BYTES))
        deadline = time.monotonic() + 60
        while server.create(1, acknowledged) and time.monotonic() < deadline:
            pass
        has_failed = "a batch was not stored" in log.read_text()
        if kills:
            server.kill()
        time.sleep(0.3)
        (disk / "filler").unlink()
        if kills:
            server = Server(binary, seen / "data", log)
        after, deadline = 0, time.monotonic() + 60
        while has_failed and after < 120 and time.monotonic() < deadline:
            after += server.create(20, acknowledged)
        run("cp", "--sparse=always", image, cut)
        server.kill()
        if not after:
            return None

        run("umount", seen)
        undo.pop()
        copied = run("losetup", "-f", "--show", cut)
        undo.append(("losetup", "-d", copied))
        run("e2fsck", "-fy", copied, may_fail=True)
        run("mount", copied, seen)
        undo.append(("umount", seen))
        server = Server(binary, seen / "data", place / "log-of-the-cut")
        if server.address is None:
            return len(acknowledged), len(acknowledged)
        lost = sum(server.ask("GET", f"/{id}")[0] != 200 for id in acknowledged)
        server.kill()
        return len(acknowledged), lost
    finally:
        if server:
            server.kill()
        for command in reversed(undo):
            run(*command, may_fail=True)


def main():
    binary = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    kills = sys.argv[3:] == ["kill"]
    lost_at_all = 0
    for number in range(1, rounds + 1):
        with tempfile.TemporaryDirectory() as place:
            played = play(binary, pathlib.Path(place), kills)
        match played:
            case None:
                # Trail or index may have taken what room there was.
                print(f"round {number}: the store met no failure")
            case (acknowledged, lost):
                lost_at_all += lost
                print(f"round {number}: {acknowledged} acknowledged, {lost} lost")
    sys.exit(1 if lost_at_all else 0)


if __name__ == "__main__":
    main()
