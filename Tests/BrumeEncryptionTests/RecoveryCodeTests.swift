import Testing

@testable import BrumeEncryption

@Suite struct RecoveryCodeTests {
    @Test("a code is written in seven groups of four characters, and read again")
    func roundTrip() throws {
        for number in UInt8(0)..<50 {
            let code = RecoveryCode(bytes: [UInt8](repeating: number &* 41, count: 16))
            #expect(code.text.split(separator: "-").map(\.count) == [4, 4, 4, 4, 4, 4, 4])
            #expect(code.text.allSatisfy { "0123456789ABCDEFGHJKMNPQRSTVWXYZ-".contains($0) })
            #expect(try RecoveryCode(code.text).secret.copyBytes() == code.secret.copyBytes())
        }
        #expect(RecoveryCode().text != RecoveryCode().text)
    }

    @Test("a person may type small letters, no hyphens, spaces, and letters that look like digits")
    func typing() throws {
        let code = RecoveryCode(bytes: [UInt8](repeating: 0b0000_1000, count: 15) + [0x21])
        let text = code.text
        let typed = [
            text.lowercased(), text.filter { $0 != "-" },
            "  " + text.split(separator: "").joined(separator: " ") + "\n",
            String(text.map { $0 == "1" ? "l" : $0 == "0" ? "o" : $0 }),
            String(text.map { $0 == "1" ? "I" : $0 == "0" ? "O" : $0 }),
        ]
        for text in typed { #expect(try RecoveryCode(text).secret.copyBytes() == code.secret.copyBytes(), "\(text)") }
    }

    @Test("each wrong character is noticed but one in four thousand, and so are other lengths and alphabets")
    func typos() {
        let text = RecoveryCode(bytes: Array(1...16)).text
        var accepted = 0
        var tried = 0
        for index in text.indices where text[index] != "-" {
            for character in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" where character != text[index] {
                var typed = text
                typed.replaceSubrange(index...index, with: String(character))
                tried += 1
                if refusal({ try RecoveryCode(typed) }) == nil { accepted += 1 }
            }
        }
        #expect(tried == 28 * 31)
        #expect(accepted <= 2, "\(accepted) of \(tried)")
        for typed in [
            "", "0", String(text.dropLast()), text + "0", text.replacing("-", with: "_"), "U" + text.dropFirst(),
        ] {
            #expect(refusal { try RecoveryCode(typed) } == .wrongCode, "\(typed)")
        }
    }

    @Test("a code is another device on paper for each account, container and environment")
    func paper() {
        let code = RecoveryCode(bytes: Array(1...16))
        let scopes = [
            Samples.scope, IdentityScope(account: "_bob", container: "iCloud.example.notes", environment: "production"),
            IdentityScope(account: "_ann", container: "iCloud.example.other", environment: "production"),
            IdentityScope(account: "_ann", container: "iCloud.example.notes", environment: "development"),
        ]
        #expect(Set(scopes.map { code.paperKey($0).publicKey }).count == 4)
        #expect(code.paperKey(scopes[0]).publicKey == code.paperKey(scopes[0]).publicKey)
    }
}
