import BrumeModel
import Testing

@Suite("By what users find an account")
struct HandleTests {
    @Test("an address is compared without regard to case, and what is none is none")
    func emails() {
        #expect(Handle(email: "Ada@Example.com") == .email("ada@example.com"))
        #expect(Handle(email: "ÄDA@example.com") == Handle(email: "äda@EXAMPLE.com"))
        // A letter and its accent, or both in one.
        #expect(Handle(email: "a\u{308}@x") != nil && Handle(email: "a\u{308}@x") == Handle(email: "\u{E4}@x"))
        let long = String(repeating: "a", count: 252)
        #expect(Handle(email: long + "@x") != nil && Handle(email: long + "a@x") == nil)
        let marks = String(repeating: "\u{301}\u{323}", count: 8)
        #expect(Handle(email: "a\(marks)@x") != nil && Handle(email: "a\(marks)\u{301}@x") == nil)
        let double = String(repeating: "\u{F73}", count: 9)
        #expect(Handle(email: "a\(double)@x") == nil)
        for text in ["", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n", "a@\u{0}", "a@b\u{2028}", "a@\u{7F}"]
            + [
                "ada@good.com@\u{301}evil", "a\u{9B}@b", "a\u{202E}@b", "a\u{200B}@b", "\u{FEFF}a@b", "a@b\u{430}",
                "a@@b",
            ]
        {
            #expect(Handle(email: text) == nil, "\(text.debugDescription)")
        }
    }

    @Test("a number is compared by its digits, with the country's code")
    func phones() {
        #expect(Handle(phone: "+49 (0)30 1234567") == nil)
        for text in ["+49 (30) 123-4567", "+49301234567", "+49/30.1234567"] {
            #expect(Handle(phone: text) == .phone("+49301234567"), "\(text)")
        }
        #expect(Handle(phone: "+123") != nil && Handle(phone: "+123456789012345") != nil)
        let many = "+1" + String(repeating: " ", count: 100) + "23"
        for text in [
            "", "+", "+12", "+1234567890123456", "030 1234567", "+0301234567", "+49x30", "+٤٩٣٠١", "++4930", many,
        ] {
            #expect(Handle(phone: text) == nil, "\(text)")
        }
    }
}
