/// By what other users find an account, in the form in which handles are compared: one account of a server has each.
package enum Handle: Hashable, Sendable {
    /// An e-mail address in lower case. RFC 5321 would allow mail servers to tell upper case apart; people don't.
    case email(String)
    /// A phone number as E.164 has it: "+", the country's code, and the rest, in digits.
    case phone(String)

    /// What an address has at most, in bytes (RFC 5321, 4.5.3.1.3).
    private static let emailBytes = 254
    /// Marks above, below and through letters in an address. Texts are compared with their marks in order, and long
    /// runs of them take long to order.
    private static let emailMarks = 16
    /// The digits of a phone number.
    private static let phoneDigits = 3...15
    /// With what phone numbers are written for people.
    private static let phoneSeparators: Set<Unicode.Scalar> = [" ", "-", ".", "/", "(", ")"]

    /// Returns nil for a text that does not look like an address: something without spaces and without characters that
    /// nobody sees, "@", and a domain of ASCII characters.
    package init?(email text: String) {
        guard text.utf8.count <= Self.emailBytes else { return nil }
        let scalars = text.unicodeScalars
        guard let at = scalars.firstIndex(of: "@"), at != scalars.startIndex,
            !scalars.contains(where: { $0.properties.isWhitespace || Self.isUnseen($0.properties.generalCategory) }),
            scalars.reduce(0, { $0 + Self.marks(in: $1) }) <= Self.emailMarks
        else { return nil }
        let domain = scalars[scalars.index(after: at)...]
        guard !domain.isEmpty, domain.allSatisfy({ $0.isASCII && $0 != "@" }) else { return nil }
        self = .email(text.lowercased())
    }

    /// How many marks a character becomes when texts are compared.
    private static func marks(in scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        // Each stands for two marks, and counts as none by its own class or as one.
        case 0x0344, 0x0F73, 0x0F75, 0x0F81: 2
        default: scalar.properties.canonicalCombiningClass == .notReordered ? 0 : 1
        }
    }

    private static func isUnseen(_ category: Unicode.GeneralCategory) -> Bool {
        switch category {
        case .control, .format, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }

    /// Returns nil for a text that is no number with its country's code, and for one with a "(0)", which is dialled
    /// without that code alone.
    package init?(phone text: String) {
        guard text.utf8.count <= 4 * Self.phoneDigits.upperBound, text.unicodeScalars.first == "+",
            !text.contains("(0)")
        else { return nil }
        var digits = ""
        for scalar in text.unicodeScalars.dropFirst() {
            if ("0"..."9").contains(scalar) {
                digits.unicodeScalars.append(scalar)
            } else if !Self.phoneSeparators.contains(scalar) {
                return nil
            }
        }
        guard Self.phoneDigits.contains(digits.count), digits.first != "0" else { return nil }
        self = .phone("+" + digits)
    }

    package static let emailForm =
        "an e-mail address looks like alice@example.com, with a domain in ASCII, and has at most 254 bytes"
    package static let phoneForm =
        "a phone number begins with + and the country's code, such as +49 30 1234567, has 3 to 15 digits, and no (0)"
}

/// What becomes of an account's handles.
package struct HandleChange: Equatable, Sendable {
    /// The new e-mail address, empty for none; nil to leave it as it is.
    package var email: String?
    /// The new phone number, empty for none; nil to leave it as it is.
    package var phone: String?

    package init(email: String? = nil, phone: String? = nil) {
        self.email = email
        self.phone = phone
    }

    package var isEmpty: Bool { email == nil && phone == nil }
}
