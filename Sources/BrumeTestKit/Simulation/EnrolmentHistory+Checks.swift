internal import BrumeModel

/// Holds the server's answers against what was posted (I18). Each check returns what is wrong, or nil.
extension EnrolmentHistory {
    /// When a call was sent and answered, and in which lives of the server.
    struct Span {
        let sent: UInt64
        let answered: UInt64
        /// The life of all of it; nil where the server was started anew meanwhile.
        let life: Life?
    }

    // MARK: Fetches

    func problem(
        withFetched shown: [RelayedEnrolment], only id: [UInt8]?, of account: Int, _ span: Span
    ) -> String? {
        if Set(shown.map(\.id)).count < shown.count { return "I18: an enrolment is shown twice" }
        if shown.map(\.millisecondsLeft) != shown.map(\.millisecondsLeft).sorted() {
            return "I18: enrolments are not shown the oldest first"
        }
        for enrolment in shown {
            if let id, enrolment.id != id { return "I18: another enrolment is shown than the one that was asked for" }
            if let problem = problem(with: enrolment, of: Key(account: account, id: enrolment.id), span) {
                return problem
            }
        }
        guard let life = span.life else { return nil }
        for wanted in id.map({ [$0] }) ?? ids[account] ?? [] where !shown.contains(where: { $0.id == wanted }) {
            if isOpen(Key(account: account, id: wanted), in: life, from: span.sent, to: span.answered) {
                return "I18: an enrolment that is open is not shown"
            }
        }
        return nil
    }

    private func problem(with shown: RelayedEnrolment, of key: Key, _ span: Span) -> String? {
        guard let enrolment = enrolments[key] else { return "I18: an enrolment is shown that no device has begun" }
        guard (1...4).contains(shown.messages.count), shown.millisecondsLeft > 0,
            shown.millisecondsLeft <= Self.lifeMilliseconds
        else { return "I18: an enrolment has \(shown.messages.count) messages, \(shown.millisecondsLeft) ms left" }
        for (index, message) in shown.messages.enumerated() {
            let isPosted = enrolment.posts.contains { $0.step == index + 1 && $0.message == message }
            if !isPosted { return "I18: message \(index + 1) of an enrolment was not posted there" }
        }
        // When it began, by the time that it has left.
        let age = (Self.lifeMilliseconds - UInt64(shown.millisecondsLeft)) * Self.millisecond
        let earliest = span.sent - min(span.sent, age + Self.millisecond)
        let latest = span.answered + Self.millisecond - min(span.answered, age)
        let isBegun = enrolment.beginnings.contains {
            $0.message == shown.messages[0] && $0.call.sent <= latest && $0.call.last >= earliest
        }
        if !isBegun { return "I18: an enrolment has \(shown.millisecondsLeft) ms left, and did not begin then" }
        if isRevoked(key.account, begunBy: latest, doneBy: span.sent) {
            return "I18: an enrolment lives on that was begun with a token that was revoked"
        }
        guard let life = span.life else { return nil }
        if latest < life.start { return "I18: an enrolment is older than the server" }
        if isEnded(key, in: life, from: span.sent, to: span.answered) {
            return "I18: an enrolment is shown that was ended"
        }
        guard isFirst(key, in: life, until: span.answered) else { return nil }
        for post in enrolment.posts where post.call.hasSucceeded(in: life, by: span.sent) {
            guard post.step <= shown.messages.count, shown.messages[post.step - 1] == post.message else {
                return "I18: message \(post.step) of an enrolment was kept, and is not shown"
            }
        }
        return nil
    }

    // MARK: Posts

    func problem(withKept post: Post, of key: Key, _ span: Span) -> String? {
        guard let life = span.life, let posts = enrolments[key]?.posts else { return nil }
        if isEnded(key, in: life, from: span.sent, to: span.answered) {
            return "I18: message \(post.step) is kept of an enrolment that was ended"
        }
        if isFirst(key, in: life, until: span.answered),
            posts.contains(where: {
                $0.step == post.step && $0.message != post.message && $0.call.hasSucceeded(in: life, by: span.answered)
            })
        {
            return "I18: an enrolment keeps two messages of step \(post.step)"
        }
        guard post.step == 1, posts.count == 1 else { return nil }
        let openCount = (ids[key.account] ?? []).count {
            $0 != key.id && isOpen(Key(account: key.account, id: $0), in: life, from: span.sent, to: span.answered)
        }
        if openCount >= 4 { return "I18: an enrolment begins beside \(openCount) others" }
        let wrongCodes = wrongCodes(of: key.account, in: life, from: span.sent, to: span.answered)
        return wrongCodes >= 3 ? "I18: an enrolment begins after \(wrongCodes) wrong codes" : nil
    }

    /// - Returns: What is wrong; nil also for refusals that have nothing to do with the enrolment.
    func problem(withRefusal error: ServiceError, of post: Post, of key: Key, _ span: Span) -> String? {
        guard let enrolment = enrolments[key] else { return nil }
        let isLiving = span.life.map { isOpen(key, in: $0, from: span.sent, to: span.answered) } ?? false
        let isWrong: Bool
        switch error.code {
        case .unknownItem:
            let mayBeOver = mayBeEnded(key, in: Life(number: 0, start: 0), by: span.answered)
            isWrong = isLiving || post.step == 1 && !mayBeOver
        case .serverRecordChanged:
            isWrong = !enrolment.posts.contains {
                $0.step == post.step && $0.message != post.message && $0.call.sent <= span.answered
            }
        case .invalidArguments:
            isWrong =
                post.step == 1
                || isLiving
                    && enrolment.posts.contains {
                        $0.step == post.step - 1 && $0.call.hasSucceeded(in: span.life!, by: span.sent)
                    }
        case .requestRateLimited where error.message.contains("wait to be let in"):
            isWrong = possiblyOpenCount(besides: key, from: span.sent, to: span.answered) < 4
        case .requestRateLimited where error.message.contains("wrong codes"):
            isWrong = possibleWrongCodes(of: key.account, from: span.sent, to: span.answered) < 3
        default: isWrong = false
        }
        return isWrong ? "I18: message \(post.step) of an enrolment is refused: \(error.message)" : nil
    }
}
