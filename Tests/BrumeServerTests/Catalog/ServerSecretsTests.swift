import BrumeModel
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The secrets of a data folder")
struct ServerSecretsTests {
    @Test("user record names stay when the folder is opened again")
    func names() throws {
        try TestFolder.with { folder in
            func name() throws -> String {
                try ServerSecrets(folder: folder).userRecordName(
                    accountID: [1, 2, 3], container: "iCloud.com.example", environment: .production)
            }
            let first = try name()
            #expect(try name() == first)
        }
    }

    @Test("a lost key of a folder with data stops the start: with a new one nobody would find their data again")
    func lostKey() throws {
        try TestFolder.with { folder in
            _ = try ServerSecrets(folder: folder)
            try FileSystem.atomicReplace(folder + "/" + MetaFile.path, [0])
            try FileSystem.remove(folder + "/secret.key")
            do throws(ServerError) {
                _ = try ServerSecrets(folder: folder)
                Issue.record("the server would start")
            } catch {
                #expect(error.code == .damaged && error.message.contains("secret.key"))
            }
            #expect(!FileSystem.exists(folder + "/secret.key"))
        }
    }
}
