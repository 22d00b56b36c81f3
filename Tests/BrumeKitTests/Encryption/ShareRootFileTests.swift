import BrumeEncryption
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("The root of a share that a device made")
struct ShareRootFileTests {
    private func folder(_ path: String, account: String = "_ada") -> KeyFolder {
        let scope = IdentityScope(account: account, container: "iCloud.test", environment: "development")
        return KeyFolder(stateFolder: path, place: KeyPlace(server: "example.com:7440", scope: scope))
    }

    private func root(_ share: String, zone: String = "Diary", in folder: KeyFolder) throws -> String? {
        guard case .done(let root) = try folder.loadShareRoot(share, zone: zone) else { throw Steps.Broken() }
        return root
    }

    @Test("is kept for that share of that zone alone, and is replaced by another one")
    func kept() throws {
        let state = try TestFolder()
        let folder = folder(state.path)
        #expect(try root("share", in: folder) == nil)
        for name in ["page", "page", "e\u{301}", "\u{e9}"] {
            _ = try folder.writeShareRoot(name, "share", zone: "Diary")
            #expect(try root("share", in: folder)?.utf8.elementsEqual(name.utf8) == true)
        }
        #expect(try root("other", in: folder) == nil && root("share", zone: "Other", in: folder) == nil)
        #expect(try root("share", in: self.folder(state.path, account: "_bob")) == nil)
    }

    @Test("is refused where its file was changed, or is another share's")
    func damaged() throws {
        let state = try TestFolder()
        let place = folder(state.path).place
        let whole = ShareRootFile.encode("page", share: "share", zone: "Diary", place: place).bytes
        #expect(try ShareRootFile.decode(whole, share: "share", zone: "Diary", place: place) == "page")
        for (share, zone) in [("other", "Diary"), ("share", "Other"), ("Diary", "share")] {
            #expect(throws: KeyFile.Refusal.self) {
                try ShareRootFile.decode(whole, share: share, zone: zone, place: place)
            }
        }
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 1
            #expect(throws: KeyFile.Refusal.self) {
                try ShareRootFile.decode(changed, share: "share", zone: "Diary", place: place)
            }
            #expect(throws: KeyFile.Refusal.self) {
                try ShareRootFile.decode(Array(whole[..<index]), share: "share", zone: "Diary", place: place)
            }
        }
    }
}
