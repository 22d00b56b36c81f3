import BrumeEncryption
import Testing

@testable import BrumeKit

@Suite("Statements that a server shows beside a ring")
struct ShownStatementsTests {
    private let place = IdentityScope(account: "_ada", container: "iCloud.test", environment: "development")
    /// Two accounts of one name: somebody before and after a reset, or the one that a server has made.
    private let first: Person
    private let second: Person

    init() throws {
        var people = [try Person("_bob", place), try Person("_bob", place)]
        for index in people.indices { try people[index].replaceKeys() }
        (first, second) = (people[0], people[1])
    }

    private func meet(
        _ shown: [SignedStatement], known: KnownStatements? = nil, named: [SignedStatement] = [], isOwner: Bool = false
    ) -> ShownStatements.Meeting? {
        ShownStatements(shown, of: first.scope).meet(
            known, named: Set(named.map(\.statement.hash)), isOwner: isOwner)
    }

    @Test("are those of the chain that a ring names, of somebody who is not known, and nobody's where it names none")
    func unknown() throws {
        for person in [first, second] {
            for named in person.signed {
                let meeting = try #require(meet(first.signed + second.signed, named: [named]))
                #expect(meeting.person.signed == person.signed && meeting.others.count == 1)
            }
        }
        #expect(meet(first.signed) == nil && meet([], named: first.signed) == nil)
        #expect(meet(first.signed, named: second.signed) == nil)
    }

    @Test("go on from what is known, whatever else is shown or named")
    func known() throws {
        let pin = try KnownStatements([first.signed[0]], of: first.scope, trust: .link)
        for shown in [first.signed + second.signed, second.signed + first.signed] {
            let meeting = try #require(meet(shown, known: pin, named: second.signed))
            #expect(meeting.person.signed == first.signed && meeting.person.trust == .link)
            #expect(meeting.others.map(\.signed) == [second.signed])
        }
        // Somebody else of the name counts for the entries that name them; of an owner there is one chain.
        let other = try #require(meet(second.signed, known: pin, named: second.signed))
        #expect(other.person == pin && other.others.map(\.signed) == [second.signed])
        #expect(meet(second.signed, known: pin, named: second.signed, isOwner: true) == nil)
        // A server that has fewer takes nothing away.
        let whole = try first.known()
        #expect(meet([first.signed[0]], known: whole)?.person == whole)
    }

    @Test("of a zone's owner are one chain")
    func owner() throws {
        let shown = first.signed + second.signed
        #expect(meet(shown, known: try first.known(), named: second.signed, isOwner: true)?.others.isEmpty == true)
        #expect(meet(shown, named: first.signed, isOwner: true)?.others.isEmpty == true)
    }

    @Test("of which one is another's, or does not hold, are none")
    func damaged() throws {
        let eve = try Person("_eve", place)
        #expect(meet(first.signed + eve.signed, named: first.signed) == nil)
        #expect(meet([first.signed[1]], named: first.signed) == nil)
        #expect(meet([first.signed[1], first.signed[0]], named: first.signed) == nil)
    }
}
