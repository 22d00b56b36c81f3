import BrumeModel
import Testing

@Suite struct NamesTests {
    @Test("a record or zone name has 1 to 255 printable ASCII characters and no leading underscore") func names() {
        let (right, wrong) = (
            ["a", "1", "a b", "~", String(repeating: "x", count: 255)],
            ["", "_a", "ä", "a\0", "a\n", String(repeating: "x", count: 256)]
        )
        for problem in [Names.problemWithRecordName, Names.problemWithZoneName] {
            for name in right { #expect(problem(name) == nil) }
            for name in wrong { #expect(problem(name) != nil, "\(name.debugDescription) was taken") }
        }
        for name in right { #expect(name.withUTF8Bytes { Names.isRecordName($0) }) }
        for name in wrong { #expect(!name.withUTF8Bytes { Names.isRecordName($0) }) }
    }

    @Test("a container's name starts with iCloud. and holds printable ASCII without spaces")
    func containers() {
        for name in ["iCloud.a", "iCloud.com.example-1.App", "iCloud." + String(repeating: "x", count: 248)] {
            #expect(Names.problemWithContainer(name) == nil)
        }
        for name in ["", "iCloud.", "icloud.a", "a.iCloud.b", "iCloud.a b", "iCloud.ä", "iCloud.a\0"]
            + ["iCloud." + String(repeating: "x", count: 249)]
        {
            #expect(Names.problemWithContainer(name) != nil, "\(name.debugDescription) was taken")
        }
    }

    @Test("a record type or field key starts with a letter and holds letters, digits and underscores")
    func identifiers() {
        let (right, wrong) = (
            ["a", "Z9_", String(repeating: "x", count: 255)],
            ["", "_a", "9a", "a-b", "é", String(repeating: "x", count: 256)]
        )
        for problem in [Names.problemWithRecordType, Names.problemWithFieldKey] {
            for name in right { #expect(problem(name) == nil) }
            for name in wrong { #expect(problem(name) != nil, "\(name.debugDescription) was taken") }
        }
        for isRight in [Names.isRecordType, Names.isFieldKey] {
            for name in right { #expect(name.withUTF8Bytes { isRight($0) }) }
            for name in wrong { #expect(!name.withUTF8Bytes { isRight($0) }) }
        }
    }

    @Test("an account's name has 1 to 64 letters, digits, dashes, underscores and dots") func accounts() {
        for name in ["a", "a.b-c_9", String(repeating: "x", count: 64)] {
            #expect(Names.problemWithAccountName(name) == nil)
        }
        for name in ["", "a b", "../x", "ä", "a\0", String(repeating: "x", count: 65)] {
            #expect(Names.problemWithAccountName(name) != nil)
        }
    }

    @Test("a user record's name is an underscore and 32 lower-case hexadecimal digits") func users() {
        #expect(Names.isUserRecordName("_" + String(repeating: "0af9", count: 8)))
        for name in ["_", "_" + String(repeating: "0AF9", count: 8), String(repeating: "0af9", count: 8)] {
            #expect(!Names.isUserRecordName(name))
        }
    }
}
