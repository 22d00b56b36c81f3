import Testing

@testable import BrumeServer
@testable import BrumeService

/// Whether an account writes alone.
@Suite("Who writes to the disk")
struct DiskSharingTests {
    private func share(_ name: String) -> ClientShare {
        let budget = ByteBudget(limit: 1)
        return ClientShare(
            .account(name), callLimit: 1, streamLimit: 1, output: ByteShare(of: budget, limit: 1),
            input: ByteShare(of: budget, limit: 1))
    }

    @Test("an account is alone until another one writes, and again a second after they last took turns")
    func sharing() {
        let sharing = DiskSharing()
        let (ada, eve) = (share("ada"), share("eve"))
        sharing.wrote(eve, atNanoseconds: 5)
        sharing.wrote(eve, atNanoseconds: 6)
        #expect(!sharing.isShared(atNanoseconds: 6))
        sharing.wrote(ada, atNanoseconds: 10)
        #expect(sharing.isShared(atNanoseconds: 10) && sharing.isShared(atNanoseconds: 1_000_000_009))
        sharing.wrote(ada, atNanoseconds: 500_000_000)
        #expect(!sharing.isShared(atNanoseconds: 1_000_000_010))
        sharing.wrote(eve, atNanoseconds: 9_000_000_000)
        #expect(sharing.isShared(atNanoseconds: 9_000_000_000))
    }
}
