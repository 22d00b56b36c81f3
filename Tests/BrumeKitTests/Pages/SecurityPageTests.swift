import Foundation
import Testing

/// Documentation/Security.md names tests by their sentences. A sentence that no test has any more proves nothing.
@Suite("The page about security")
struct SecurityPageTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../../"
    /// The files with the tests, by the letters that the page has for them.
    private static let files = [
        "V": ["Tests/BrumeTestingTests/Lies/ValueLieTests.swift"],
        "Z": ["Tests/BrumeTestingTests/Lies/ZoneKeyLieTests.swift"],
        "A": ["Tests/BrumeTestingTests/Lies/AccountKeyLieTests.swift"],
        "S": [
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests.swift",
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests+Departures.swift",
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests+Guests.swift",
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests+Links.swift",
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests+Moves.swift",
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests+Removals.swift",
            "Tests/BrumeTestingTests/Lies/ShareKeyLieTests+Stamps.swift",
        ],
        "D": ["Tests/BrumeTestingTests/Lies/FileLieTests.swift"],
        "M": ["Tests/BrumeTestingTests/Lies/EnrolmentLieTests.swift"],
        "L": ["Tests/BrumeKitTests/Encryption/LyingServerTests.swift"],
        "F": ["Tests/BrumeKitTests/Assets/EncryptedContentTests.swift"],
        "C": ["Tests/BrumeEncryptionTests/AssetCipherTests.swift"],
        "E": ["Tests/BrumeKitTests/Encryption/EnrolmentTests.swift"],
        "G": ["Tests/BrumeKitTests/Encryption/EnrolledKeysTests.swift"],
        "R": ["Tests/BrumeKitTests/Encryption/ZoneRingTests.swift"],
        "H": [
            "Tests/BrumeKitTests/Encryption/EncryptedSharesTests+Places.swift",
            "Tests/BrumeKitTests/Encryption/EncryptedSharesTests+Links.swift",
        ],
        "N": ["Tests/BrumeKitTests/Encryption/EncryptedSharesTests+Paths.swift"],
        "W": ["Tests/BrumeTestingTests/Lies/LiedWorldTests.swift"],
        "P": ["Tests/BrumeKitTests/Encryption/ShownPathTests.swift"],
        "T": ["Tests/BrumeKitTests/Encryption/RingGuestTests.swift"],
        "O": [
            "Tests/BrumeTestingTests/EncryptedPlacesTests.swift", "Tests/BrumeTestingTests/ClosedFieldsTests.swift",
        ],
        "B": ["Tests/BrumeTestingTests/TakenNamesTests.swift"],
        "K": ["Tests/BrumeKitTests/Encryption/RingLateEntryTests.swift"],
        "X": ["Tests/BrumeTestingTests/RevivedZonesTests.swift"],
        "U": ["Tests/BrumeKitTests/Encryption/RingGuestTests+Approval.swift"],
    ]

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: root + path, encoding: .utf8)
    }

    @Test("names a test for each lie of a server, and each test of a server that lies")
    func proofs() throws {
        let lines = try Self.text("Documentation/Security.md").split(separator: "\n")
        let table = lines.drop { !$0.hasPrefix("| lie |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        #expect(table.count > 10)
        let tests = try Self.files.mapValues { files in
            try files.flatMap { file in
                try Self.text(file).matches(of: /@Test\(\s*"([^"]+)"/).map { String($0.1) }
            }
        }
        var named: [String: Set<String>] = [:]
        for row in table {
            let proof = row.split(separator: "|").last ?? ""
            let groups = proof.matches(of: /\[([A-Z])\] ([^\[]+)/)
            #expect(!groups.isEmpty, "no test is named for: \(row.prefix(80))")
            for group in groups {
                let sentences = group.2.split(separator: "·").map {
                    $0.trimmingCharacters(in: CharacterSet(charactersIn: "; "))
                }
                for sentence in sentences {
                    let test = tests[String(group.1)]?.first { $0.hasPrefix(sentence) }
                    #expect(test != nil, "no test of \(group.1) begins with: \(sentence)")
                    named[String(group.1), default: []].insert(test ?? "")
                }
            }
        }
        // What the page says elsewhere: older values of a field are genuine, and whose a guest's share is the URL says.
        named["V", default: []].insert(
            "that are older than others of their record are read: they are genuine, and nothing says that newer ones "
                + "exist"
        )
        named["S", default: []].insert(
            "that a stranger made in the owner's name are taken by a device of the guest's that never had the link")
        for letter in ["V", "Z", "A", "S", "D", "M"] {
            for test in tests[letter] ?? [] where named[letter]?.contains(test) != true {
                Issue.record("the page does not name: \(test)")
            }
        }
    }
}
