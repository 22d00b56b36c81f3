import Testing

@testable import BrumeSystem

@Suite("The order in which connections send at the end of a turn")
struct FlushQueueTests {
    private final class Handler: LoopHandler {
        let name: String
        var sendsPromptly: Bool

        init(_ name: String, prompt: Bool) {
            self.name = name
            sendsPromptly = prompt
        }

        func socketReady(readable: Bool, writable: Bool) {}
        func turnEnding() {}
        func turnContinuing() {}
        func loopStopped() {}
    }

    private func names(_ handlers: [any LoopHandler]) -> [String] { handlers.map { ($0 as! Handler).name } }

    @Test("what peers wait for goes first, the rest after it in the order in which it came")
    func promptFirst() {
        var queue = FlushQueue()
        for (name, prompt) in [("a", true), ("b", false), ("c", true), ("d", false), ("e", true)] {
            queue.append(Handler(name, prompt: prompt))
        }
        let (handlers, prompt) = queue.takeAll()
        #expect(names(handlers) == ["a", "c", "e", "b", "d"] && prompt == 3 && queue.isEmpty)
    }

    @Test("what was left comes before what was marked since, and goes first once its peer waits")
    func leftovers() {
        var queue = FlushQueue()
        let news = (0..<4).map { Handler("news\($0)", prompt: false) }
        for handler in news { queue.append(handler) }
        let (handlers, prompt) = queue.takeAll()
        #expect(prompt == 0)
        // The first of them has more to send than one turn takes.
        queue.append(handlers[0])
        queue.putBack(handlers[2...])
        queue.append(Handler("later", prompt: false))
        news[3].sendsPromptly = true
        let (next, nextPrompt) = queue.takeAll()
        #expect(names(next) == ["news3", "news2", "news0", "later"] && nextPrompt == 1)
    }

    @Test("an answer makes a connection's output prompt, news and large output don't")
    func connections() throws {
        let server = try TestListener { _ in TestDelegate() }
        let (seen, done) = (Shared<[Bool]>([]), Signal())
        let delegate = TestDelegate()
        delegate.established = { connection in
            func append(_ count: Int, isNews: Bool) {
                connection.withOutput(minimumCapacity: count, isNews: isNews) { _ in count }
                let isPrompt = connection.sendsPromptly
                seen.change { $0.append(isPrompt) }
            }
            append(10, isNews: true)
            append(10, isNews: true)
            append(10, isNews: false)
            append(10, isNews: true)
            append(Limits.promptOutputBytes, isNews: false)
            done.raise()
        }
        try server.connect(delegate)
        #expect(done.wait())
        #expect(seen.value == [false, false, true, true, false])
    }
}
