import BrumeModel
import Testing

@Suite("CloudKit's own rules for predicates")
struct CloudKitRulesTests {
    private static let a = Predicate.comparison(.field("a"), .equal, .int64(1))
    private static let between = Predicate.between(.field("a"), .int64(1), .int64(2))
    private static let text = Predicate.text("word", .anyWord)
    private static let near = Predicate.distance(
        .field("p"), latitude: 1, longitude: 2, metres: 3, isInclusive: false)

    @Test(
        "allow what CloudKit's table lists",
        arguments: [
            .constant(true), .constant(false), a, between, text, near, .isIn(.field("a"), [.int64(1)]),
            .anyElement(.field("t"), .equal, .string("x")), .anyElementIsIn(.field("t"), [.string("x")]),
            .and([a, between, text, near]), .not(a), .not(.isIn(.field("a"), [])), .not(.not(a)), .not(.constant(true)),
            .not(.anyElement(.field("t"), .equal, .string("x"))), .and([.not(a), .and([a, .not(a)])]),
        ] as [Predicate])
    func allowed(predicate: Predicate) {
        #expect(predicate.problemUnderCloudKitRules() == nil)
    }

    @Test(
        "refuse the rest by name, however deep it stands",
        arguments: [
            (.or([a, a]), "OR"), (.or([]), "OR"), (.not(.or([a, a])), "OR"), (.and([a, .or([a, a])]), "OR"),
            (.not(.and([a, a])), "NOT before AND"), (.not(text), "NOT before a search for words"),
            (.not(near), "NOT before a distance"), (.not(between), "NOT before BETWEEN"),
            (.and([a, .not(.not(between))]), "NOT before BETWEEN"), (.and([a, .and([a, .not(text)])]), "search"),
        ] as [(Predicate, String)])
    func refused(predicate: Predicate, construct: String) throws {
        let problem = try #require(predicate.problemUnderCloudKitRules())
        #expect(problem.code == .invalidArguments)
        #expect(problem.message.contains("has no \(construct)") || problem.message.contains(construct))
    }
}
