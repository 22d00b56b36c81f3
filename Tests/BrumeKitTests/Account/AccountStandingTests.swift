@testable import BrumeKit
import BrumeModel
import Testing

@Suite("What an app believes of its account")
struct AccountStandingTests {
    @Test("is news when it differs from what the app could know")
    func news() {
        var standing = AccountStanding()
        let ada = AccountAnswer.accepted(userRecordName: "_ada")
        #expect(standing.answered(ada) == false, "an app that asked nothing yet has nothing to unlearn")
        #expect(standing.answered(ada) == false)
        #expect(standing.answered(.refused(.notAuthenticated)) == true)
        #expect(standing.answered(.refused(.notAuthenticated)) == false)
        #expect(standing.answered(.refused(.accountTemporarilyUnavailable)) == true)
        #expect(standing.answered(ada) == true)
        #expect(standing.answered(.accepted(userRecordName: "_bob")) == true, "another user has the token")
    }

    @Test("is news after a question that remained open")
    func open() {
        var standing = AccountStanding()
        standing.remainedOpen()
        #expect(standing.answered(.accepted(userRecordName: "_ada")) == true)
        standing.remainedOpen()
        #expect(
            standing.answered(.accepted(userRecordName: "_ada")) == false, "what the server said before still holds")
    }
}
