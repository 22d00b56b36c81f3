import BrumeModel
@testable import BrumeService
import Testing

/// The users whom a share's URL leads into a database, before the share is asked.
@Suite("A share's URL, before it is followed")
struct LinkAuthorisationTests {
    private static func identity(_ role: Identity.Role, _ environment: Environment = .development) -> Identity {
        Identity(
            role: role, container: "iCloud.mine", environment: environment, deviceID: [UInt8](repeating: 1, count: 16),
            clientVersion: "test")
    }

    private static func database(
        _ container: String = "iCloud.theirs", _ environment: Environment = .development
    ) -> DatabaseID {
        let owner = Names.userRecordName(of: [UInt8](repeating: 1, count: 16))
        return DatabaseID(container: container, environment: environment, scope: .private, owner: owner)
    }

    private static func code(
        _ database: DatabaseID?, _ identity: Identity, isServed: (String) -> Bool = { _ in true }
    ) -> ErrorCode? {
        switch Authorisation.database(atLink: database, for: identity, isServed: isServed) {
        case .success(let found): found == database ? nil : .internalError
        case .failure(let error): error.code
        }
    }

    @Test("leads an account into any container that is served, of its own environment")
    func account() {
        let ada = Self.identity(.account(name: "ada"))
        #expect(Self.code(Self.database(), ada) == nil)
        #expect(Self.code(Self.database("iCloud.mine"), ada) == nil)
        #expect(Self.code(nil, ada) == .unknownItem)
        #expect(Self.code(Self.database("iCloud.theirs", .production), ada) == .unknownItem)
        #expect(Self.code(Self.database(), Self.identity(.account(name: "ada"), .production)) == .unknownItem)
        #expect(Self.code(Self.database(), ada, isServed: { $0 == "iCloud.mine" }) == .unknownItem)
    }

    @Test("leads nobody without an account anywhere")
    func others() {
        for role in [Identity.Role.anonymous, .admin] {
            #expect(Self.code(Self.database(), Self.identity(role)) == .notAuthenticated)
            #expect(Self.code(nil, Self.identity(role)) == .notAuthenticated)
        }
    }

    @Test("names its owner by the bytes that the name is made of")
    func names() {
        let bytes = (0..<16).map { UInt8($0 * 17) }
        let name = Names.userRecordName(of: bytes)
        #expect(name == "_00112233445566778899aabbccddeeff" && Names.isUserRecordName(name))
        #expect(Names.bytes(ofUserRecordName: name) == bytes)
        #expect(Names.bytes(ofUserRecordName: "_00") == nil && Names.bytes(ofUserRecordName: "Users") == nil)
    }
}
