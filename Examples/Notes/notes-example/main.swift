internal import CloudKit
internal import NotesKit

// The notes of a device on the command line. The server and the account come from the environment, as `brume dev`
// prints it.

let help = """
    notes-example FILE list                 the notes, with their ids
    notes-example FILE add TITLE TEXT       adds a note
    notes-example FILE edit ID TEXT         changes its text
    notes-example FILE picture ID PICTURE   gives it a picture, a file
    notes-example FILE delete ID            deletes it
    notes-example FILE sync                 sends and fetches now
    Edits need no network: the next sync sends them.
    """

func fail(_ message: String, _ code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
}

let arguments = CommandLine.arguments.dropFirst()
guard let file = arguments.first, let command = arguments.dropFirst().first else { fail(help, 2) }
let values = Array(arguments.dropFirst(2))

do {
    let app = try NotesApp(
        container: .default(), file: URL(fileURLWithPath: file), automaticallySync: false)
    switch (command, values.count) {
    case ("list", 0):
        for note in try app.notes() {
            print("\(note.id)  \(note.title): \(note.text)" + (note.picture.map { " [\($0.path)]" } ?? ""))
        }
    case ("add", 2): print(try app.add(title: values[0], text: values[1]).id)
    case ("edit", 2): try app.edit(values[0]) { $0.text = values[1] }
    case ("picture", 2): try app.setPicture(URL(fileURLWithPath: values[1]), of: values[0])
    case ("delete", 1): try app.delete(values[0])
    case ("sync", 0):
        try await app.syncNow()
        for problem in app.problems { print("not sent: \(problem)") }
        // The engine tells its state a tenth of a second after a change: a program that ended before would fetch all
        // again.
        try await Task.sleep(for: .milliseconds(250))
    default: fail(help, 2)
    }
} catch {
    fail("notes-example: \(error.localizedDescription)", 1)
}
