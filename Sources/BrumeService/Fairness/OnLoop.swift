/// A closure of one loop that travels over another one, which does not call it.
struct OnLoop<Argument>: @unchecked Sendable {
    let body: (Argument) -> Void

    init(_ body: @escaping (Argument) -> Void) {
        self.body = body
    }
}
