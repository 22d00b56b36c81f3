import BrumeModel
import BrumeStore
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The account file")
struct AccountFileTests {
    @Test("every damaged byte of it is noticed, and so is every lost end")
    func everyByte() throws {
        let accounts = (0..<3).map { index in
            StoredAccount(
                name: "a\(index)", email: "a\(index)@example.com", createdMilliseconds: 5,
                id: [UInt8](repeating: UInt8(index), count: 16), tokenHashes: [[UInt8](repeating: 7, count: 32)])
        }
        let bytes = AccountFile.encode(accounts)
        #expect(try AccountFile.decode(bytes, path: "accounts") == accounts)
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                #expect(throws: StoreError.self, "bit \(bit) of byte \(index)") {
                    try AccountFile.decode(changed, path: "accounts")
                }
            }
            #expect(throws: StoreError.self, "\(index) bytes") {
                try AccountFile.decode(Array(bytes[..<index]), path: "accounts")
            }
        }
    }
}
