//! DELETE /Composition/{id}. Specification 4.5; Contract 3.7.

use crate::body::Body;
use crate::server::Server;

#[tokio::test]
async fn a_delete_answers_nothing() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    insta::assert_snapshot!(server.delete(&draft).await);
}

#[tokio::test]
async fn deleting_again_changes_nothing() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    server.delete(&draft).await.expect(204);
    server.delete(&draft).await.expect(204);
    assert_eq!(server.seq(), 2);
    assert_eq!(server.get("Composition/1/_history").await.expect(200).json()["total"], 2);
}

#[tokio::test]
async fn only_a_draft_can_be_deleted() {
    let server = Server::start().await;
    let certificate = server.create(Body::completed()).await;
    insta::assert_snapshot!(server.delete(&certificate).await);
    server.get(&certificate).await.expect(200);
}

#[tokio::test]
async fn a_body_of_a_delete_is_not_looked_at() {
    let server = Server::start().await;
    let draft = server.create(Body::draft()).await;
    server.delete(&draft).body_as(Some("text/plain"), "anything").await.expect(204);
}
