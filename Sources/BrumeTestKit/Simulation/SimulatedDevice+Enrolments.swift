internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom

/// Enrolments between devices of an account: each posts, fetches and ends whatever it likes, in any order, so that two
/// often mean the same place.
extension SimulatedDevice {
    /// Does something with some of them.
    func useEnrolments() {
        for _ in 0..<Int.random(in: 1...4, using: &generator) { useEnrolment() }
    }

    private func useEnrolment() {
        let known = simulation.enrolments.ids[account] ?? []
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<3: postEnrolment(newOperation(), step: 1)
        case 3..<7:
            guard let id = known.suffix(4).randomElement(using: &generator) else { return fetchEnrolments(only: nil) }
            postEnrolment(id, step: nextStep(of: id))
        case 7..<9:
            // Mostly one that nobody has ended.
            let open = known.suffix(4).filter { enrolment($0)?.ends.isEmpty ?? false }
            guard let id = (generator.oneIn(4) ? known.suffix(4) : open[...]).randomElement(using: &generator) else {
                return fetchEnrolments(only: nil)
            }
            endEnrolment(id)
        default: useOthersEnrolment()
        }
        if generator.oneIn(2) { fetchEnrolments(only: generator.oneIn(3) ? known.last : nil) }
    }

    private func enrolment(_ id: [UInt8]) -> EnrolmentHistory.Enrolment? {
        simulation.enrolments.enrolments[.init(account: account, id: id)]
    }

    /// The step behind the last one that was posted, mostly.
    private func nextStep(of id: [UInt8]) -> Int {
        if generator.oneIn(4) { return Int.random(in: 1...4, using: &generator) }
        let posts = enrolment(id)?.posts ?? []
        return min(4, (posts.filter { $0.call.success != nil }.map(\.step).max() ?? 0) + 1)
    }

    /// Tries an id that another account has used.
    private func useOthersEnrolment() {
        let others = simulation.enrolments.ids.filter { $0.key != account }.sorted { $0.key < $1.key }
        guard let id = others.compactMap(\.value.last).randomElement(using: &generator) else { return }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: postEnrolment(id, step: Int.random(in: 1...2, using: &generator))
        case 1: endEnrolment(id)
        default: fetchEnrolments(only: id)
        }
    }

    // MARK: Calls

    private func postEnrolment(_ id: [UInt8], step: Int) {
        let (key, history) = (EnrolmentHistory.Key(account: account, id: id), simulation.enrolments)
        // Sometimes what was sent before, as after an answer that was lost.
        let before = history.enrolments[key]?.posts.filter { $0.step == step }.map(\.message) ?? []
        let message =
            generator.oneIn(3) ? before.randomElement(using: &generator) ?? randomMessage() : randomMessage()
        let call = history.posts(message, step: step, of: key, at: now, in: simulation.server.lifeNow)
        let post = EnrolmentHistory.Post(call: call, step: step, message: message)
        let request = coder.encodePostEnrolmentRequest(PostEnrolmentRequest(id: id, step: step, message: message))
        send(.enrolmentsPost, request, as: call) { [self] result, span in
            switch result {
            case .success:
                simulation.report.enrolmentMessages += 1
                if let problem = history.problem(withKept: post, of: key, span) { simulation.violated(problem) }
            case .failure(let error):
                if error.code == .requestRateLimited { simulation.report.enrolmentsLimited += 1 }
                if let problem = history.problem(withRefusal: error, of: post, of: key, span) {
                    return simulation.violated(problem)
                }
                if ![.unknownItem, .serverRecordChanged, .invalidArguments].contains(error.code) {
                    checkRefusalOfEnrolment(error)
                }
            }
        }
    }

    private func endEnrolment(_ id: [UInt8]) {
        let key = EnrolmentHistory.Key(account: account, id: id)
        let isForWrongCode = generator.oneIn(2)
        let call = simulation.enrolments.ends(
            key, isForWrongCode: isForWrongCode, at: now, in: simulation.server.lifeNow)
        let request = EndEnrolmentRequest(id: id, isForWrongCode: isForWrongCode)
        send(.enrolmentsEnd, coder.encodeEndEnrolmentRequest(request), as: call) { [self] result, _ in
            if case .failure(let error) = result { checkRefusalOfEnrolment(error) }
        }
    }

    private func fetchEnrolments(only id: [UInt8]?) {
        send(.enrolmentsFetch, coder.encodeFetchEnrolmentsRequest(id), as: nil) { [self] result, span in
            let bytes: [UInt8]
            switch result {
            case .success(let answer): bytes = answer
            case .failure(let error): return checkRefusalOfEnrolment(error)
            }
            let decoded = bytes.withUnsafeBytes { buffer in
                Result { () throws(ServiceError) in try coder.decodeFetchEnrolmentsResponse(buffer) }
            }
            guard case .success(var shown) = decoded else { return simulation.violated("enrolments can't be read") }
            if simulation.options.brokenPromise == .showsOldEnrolments, id == nil {
                swap(&shown, &lastEnrolments)
            }
            simulation.report.enrolmentsShown += shown.count
            if let problem = simulation.enrolments.problem(withFetched: shown, only: id, of: account, span) {
                simulation.violated(problem)
            }
        }
    }

    private func randomMessage() -> [UInt8] {
        (0..<Int.random(in: 3...9, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Makes a call, and notes when it was sent and answered, and by which process of the server.
    private func send(
        _ method: Method, _ payload: [UInt8], as noted: EnrolmentHistory.Call?,
        then: @escaping (Result<[UInt8], ServiceError>, EnrolmentHistory.Span) -> Void
    ) {
        let (sent, life, sendCount) = (now, simulation.server.lifeNow, sendCount(of: payload))
        call(method, payload, .none) { [self] result in
            let lifeNow = simulation.server.lifeNow
            var isSuccess = true
            var isServers = true
            if case .failure(let error) = result { (isSuccess, isServers) = (false, Self.isServers(error)) }
            if isSuccess { simulation.wasAnswered() }
            if let noted {
                simulation.enrolments.answered(
                    noted, isSuccess: isSuccess,
                    isSentOnce: isServers && self.sendCount(of: payload) == sendCount + 1, at: now, in: lifeNow)
            }
            then(result, EnrolmentHistory.Span(sent: sent, answered: now, life: life == lifeNow ? life : nil))
        }
    }

    /// Whether a failure is certainly what the server said of this very call.
    private static func isServers(_ error: ServiceError) -> Bool {
        [.unknownItem, .serverRecordChanged, .invalidArguments].contains(error.code)
            || error.code == .requestRateLimited && error.message.contains("enrol")
    }

    /// Checks that a call was refused for what faults, limits and revocations explain: no disk among them.
    private func checkRefusalOfEnrolment(_ error: ServiceError) {
        switch error.code {
        case .networkUnavailable, .networkFailure, .requestRateLimited, .notAuthenticated, .operationCancelled,
            .serverResponseLost:
            return
        // A server that can't be reached; a full disk is nothing to an enrolment.
        case .serviceUnavailable where !error.message.contains("disk"): return
        default: simulation.violated("I18: a call for enrolments is refused with \(error.code): \(error.message)")
        }
    }
}
