import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer

/// The files of a data folder beside the store's, without which nobody finds their data again.
@Suite("Accounts and secrets of a folder")
struct FolderFilesTests {
    /// A folder that a server has used, with a secret as real ones have it.
    private func folder() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        try server.connect(account: "a").save(["x"])
        disk.replace(DataFolder.secretPath, with: [UInt8](repeating: 1, count: 32))
        return disk
    }

    private func problems(_ disk: SimulatedDisk) throws -> [String] {
        try Verification(of: disk, others: DataFolder.filesAlwaysThere).problems.map(\.file)
    }

    @Test("each of their damaged bytes is found by a verification, and so is a file that is gone")
    func verification() throws {
        let disk = try folder()
        #expect(try problems(disk) == [])
        let accounts = try #require(disk.contents(of: AccountFile.path))
        for index in accounts.indices {
            var damaged = accounts
            damaged[index] ^= 1
            disk.replace(AccountFile.path, with: damaged)
            #expect(try problems(disk) == [AccountFile.path], "byte \(index)")
        }
        disk.replace(AccountFile.path, with: accounts)
        disk.replace(DataFolder.secretPath, with: [1])
        #expect(try problems(disk) == [DataFolder.secretPath])
        disk.replace(DataFolder.secretPath, with: nil)
        disk.replace(AccountFile.path, with: nil)
        #expect(try problems(disk) == [AccountFile.path, DataFolder.secretPath])
    }

    @Test(
        "no account file is made in a folder that has lost more than that", arguments: ["brume.meta", "journal/extent"])
    func lostTogether(lost: String) throws {
        let disk = try folder()
        disk.replace(AccountFile.path, with: nil)
        disk.replace(lost, with: nil)
        let error = #expect(throws: StoreError.self) { try AccountStore(disk: disk) }
        guard case .damaged(let damage)? = error else { throw TestFailure("\(String(describing: error))") }
        #expect(damage.file == AccountFile.path && damage.isMissing)
    }
}
