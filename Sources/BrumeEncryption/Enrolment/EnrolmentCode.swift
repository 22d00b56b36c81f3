/// What a person reads from one device of an enrolment and types into the other: thirty bits of all that the two said.
package enum EnrolmentCode {
    /// As many as a person types twice without being annoyed. Whoever stands between the two devices has one guess,
    /// since both sides were bound before either could know the other's random bytes.
    static let characterCount = 6

    /// Whether a text can be a code. One that can't is a slip, and no guess.
    package static func isOne(_ text: String) -> Bool { TypedCharacters.values(text)?.count == characterCount }

    /// Refuses a code that is not the one that the other device shows.
    static func check(_ typed: String, _ code: String) throws(EncryptionRefusal) {
        guard let typed = TypedCharacters.values(typed), typed == TypedCharacters.values(code) else { throw .wrongCode }
    }
}
