internal import Testing

@testable internal import brume

@Suite("The address that shares' URLs begin with")
struct PublicURLTests {
    @Test("is https:// and a host, maybe with a port; a slash behind it is left out")
    func fits() throws {
        for text in [
            "https://sync.example.com", "https://sync.example.com:7440", "https://192.0.2.1", "https://[::1]:8443",
        ] {
            #expect(try PublicURL.text(text, option: "public-url") == text)
            #expect(try PublicURL.text(text + "/", option: "public-url") == text)
        }
    }

    @Test(
        "is nothing else",
        arguments: [
            "", "sync.example.com", "http://sync.example.com", "https://", "https:///", "https://a/b", "https://a?b",
            "https://a#b", "https://a@b", "https://a:0", "https://a:70000", "https://a b",
        ])
    func misfits(text: String) {
        #expect(throws: UsageError.self) { try PublicURL.text(text, option: "public-url") }
    }
}
