import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.IValidationSupport.IssueSeverity;
import ca.uhn.fhir.validation.FhirValidator;
import ca.uhn.fhir.validation.ResultSeverityEnum;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.hl7.fhir.common.hapi.validation.support.CommonCodeSystemsTerminologyService;
import org.hl7.fhir.common.hapi.validation.support.InMemoryTerminologyServerValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.PrePopulatedValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.SnapshotGeneratingValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.UnknownCodeSystemWarningValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.ValidationSupportChain;
import org.hl7.fhir.common.hapi.validation.validator.FhirInstanceValidator;
import org.hl7.fhir.instance.model.api.IBaseResource;
import org.hl7.fhir.r5.utils.validation.constants.BestPracticeWarningLevel;

/**
 * Writes which bodies the HL7 validator refuses, and why: its errors, in the form of models.py.
 *
 *     java -cp CLASSPATH Judge.java CASES DEFINITIONS... > VERDICTS
 *
 * DEFINITIONS are folders of unpacked npm packages and files of one definition a line. Of two definitions with one
 * address, the one read last counts. There is no terminology server: a code whose code system is in none of the
 * definitions is a warning.
 */
public class Judge {
    /** The definitions that say what is right; a package has others, such as search parameters. */
    private static final Predicate<String> IS_DEFINITION =
            Pattern.compile("(StructureDefinition|ValueSet|CodeSystem)-.*[.]json").asMatchPredicate();

    private static final Set<ResultSeverityEnum> REFUSALS = Set.of(ResultSeverityEnum.ERROR, ResultSeverityEnum.FATAL);

    private static final FhirContext R5 = FhirContext.forR5Cached();
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var threads = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        try {
            var texts = new ArrayList<String>();
            for (int at = 1; at < arguments.length; at++) {
                texts.addAll(definitions(Path.of(arguments[at])));
            }
            var validator = validator(threads, texts);
            var verdicts = new ArrayList<Future<ObjectNode>>();
            for (var line : Files.readAllLines(Path.of(arguments[0]))) {
                verdicts.add(threads.submit(() -> verdict(validator, JSON.readTree(line))));
            }
            var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
            for (var verdict : verdicts) {
                out.println(JSON.writeValueAsString(verdict.get()));
            }
            out.flush();
        } finally {
            threads.shutdownNow();
        }
    }

    private static List<String> definitions(Path path) throws IOException {
        if (!Files.isDirectory(path)) {
            return Files.readAllLines(path);
        }
        try (Stream<Path> files = Files.list(path)) {
            var texts = new ArrayList<String>();
            for (var file : files.sorted().toList()) {
                if (IS_DEFINITION.test(file.getFileName().toString())) {
                    texts.add(Files.readString(file));
                }
            }
            return texts;
        }
    }

    // HAPI will do without the class that lets unknown code systems pass, and has no other means yet.
    @SuppressWarnings("deprecation")
    private static FhirValidator validator(ExecutorService threads, List<String> texts)
            throws InterruptedException, ExecutionException {
        var definitions = new PrePopulatedValidationSupport(R5);
        var parsed = new ArrayList<Future<IBaseResource>>();
        for (var text : texts) {
            parsed.add(threads.submit(() -> R5.newJsonParser().parseResource(text)));
        }
        for (var definition : parsed) {
            definitions.addResource(definition.get());
        }
        var unknownSystems = new UnknownCodeSystemWarningValidationSupport(R5);
        unknownSystems.setNonExistentCodeSystemSeverity(IssueSeverity.WARNING);
        var module = new FhirInstanceValidator(new ValidationSupportChain(
                definitions,
                new SnapshotGeneratingValidationSupport(R5),
                new InMemoryTerminologyServerValidationSupport(R5),
                new CommonCodeSystemsTerminologyService(R5),
                unknownSystems));
        module.setAnyExtensionsAllowed(true);
        module.setErrorForUnknownProfiles(true);
        module.setNoExtensibleWarnings(true);
        module.setBestPracticeWarningLevel(BestPracticeWarningLevel.Ignore);
        return R5.newValidator().registerValidatorModule(module);
    }

    private static ObjectNode verdict(FhirValidator validator, JsonNode test) {
        var verdict = JSON.createObjectNode().put("name", test.get("name").asText());
        var refusals = verdict.putArray("refusals");
        try {
            for (var message : validator.validateWithResult(test.get("body").asText()).getMessages()) {
                if (REFUSALS.contains(message.getSeverity())) {
                    refuse(refusals, message.getMessageId(), message.getLocationString(), message.getMessage());
                }
            }
        } catch (RuntimeException unreadable) {
            refuse(refusals, unreadable.getClass().getSimpleName(), "", String.valueOf(unreadable.getMessage()));
        }
        return verdict;
    }

    private static void refuse(ArrayNode refusals, String key, String path, String text) {
        refusals.addObject().put("by", "hl7").put("key", key).put("path", path).put("text", text);
    }
}
