internal import BrumeTesting
internal import CloudKit
internal import SharedListKit

// Two users and a shopping list. The server is there for as long as the program runs; on another one an app makes its
// ListsApp with CKContainer.default().

func show(_ name: String, _ app: ListsApp) async throws {
    try await app.syncNow()
    for problem in app.problems { print("\(name) can't: \(problem)") }
    if app.lists.isEmpty { print("\(name) has no list.") }
    for list in app.lists {
        print("\(name) sees \(list.zoneName): \(app.items(of: list).joined(separator: ", "))")
    }
}

try await TestServer.run(accounts: ["ada", "bob"]) { server in
    let ada = ListsApp(container: try server.device(of: "ada").container)
    let bob = ListsApp(container: try server.device(of: "bob").container)

    let adasList = try await ada.makeList("Groceries")
    ada.add("bread", to: adasList)
    try await show("Ada", ada)
    try await show("Bob", bob)

    let url = try await ada.share(adasList)
    print("Ada shares the list: \(url.absoluteString)")
    let bobsList = try await bob.join(url)
    try await show("Bob", bob)

    bob.add("milk", to: bobsList)
    try await show("Bob", bob)
    ada.add("tea", to: adasList)
    try await show("Ada", ada)
    try await show("Bob", bob)

    try await bob.leave(bobsList)
    print("Bob leaves the list.")
    try await show("Bob", bob)
    try await show("Ada", ada)
}
