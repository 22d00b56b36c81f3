import Testing

@testable import BrumeStore

@Suite("Operations that an earlier version remembered")
struct FormerOperationTests {
    private let id = [UInt8](repeating: 5, count: 16)

    @Test("about records keep their id and their answer")
    func records() throws {
        let former = try #require(FormerOperation(key: id + [32], answer: [1, 2]))
        #expect(former.id == id && former.outcome == [1, 2])
    }

    @Test("of other methods, of a public database, and without an answer, are forgotten")
    func others() {
        for method in [0, 16, 31, 33, 48, 255] as [UInt8] {
            #expect(FormerOperation(key: id + [method], answer: [1]) == nil)
        }
        #expect(FormerOperation(key: id, answer: [1]) == nil)
        #expect(FormerOperation(key: [], answer: [1]) == nil)
        #expect(FormerOperation(key: id + [32], answer: []) == nil)
    }

    @Test("that pushed out what was known of a forgotten user still do")
    func forgotten() throws {
        let key = Array("forget 17".utf8)
        let former = try #require(FormerOperation(key: key, answer: [0]))
        #expect(former.id == key && former.outcome == [0])
    }
}
