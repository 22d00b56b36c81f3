import Testing

@testable import BrumeServer

@Suite struct OpenedContainersTests {
    @Test("an account opens so many containers and goes on using them") func accountLimit() {
        var opened = OpenedContainers(limit: 10, accountLimit: 2)
        #expect(["a", "b", "c", "a"].map { opened.open($0, account: [1]) } == [true, true, false, true])
        #expect(opened.open("c", account: [2]) == true, "another account has its own count")
    }

    @Test("a full server takes known containers only") func serverLimit() {
        var opened = OpenedContainers(limit: 2, accountLimit: 10)
        #expect(["a", "b", "c"].map { opened.open($0, account: [1]) } == [true, true, false])
        #expect(opened.open("a", account: [2]) == true)
        #expect(opened.open("d", account: [2]) == false)
    }
}
