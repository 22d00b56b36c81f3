package import BrumeModel

/// What a server says of the account of a session.
package enum AccountAnswer: Hashable, Sendable {
    /// It takes the account.
    case accepted(userRecordName: String)
    /// It does not: `notAuthenticated`, or one of the codes for accounts that can't be used just now.
    case refused(ErrorCode)
}

/// Who wants to hear what the server says of the account. Kept by itself, not by the session.
struct AccountReceiver: Sendable {
    let answered: @Sendable (AccountAnswer) -> Void
}

/// What a session owes to those who use it for an account: word of what the server says of it, and an end on demand.
extension ClientSession {
    /// From now on `receiver` hears what the server says of the account, what it said last at once. Any thread.
    nonisolated func addAccountReceiver(_ owner: ObjectIdentifier, _ receiver: AccountReceiver) {
        onExecutor { session in
            session.accountReceivers[owner] = receiver
            session.perform(session.machine.accountWatched(true, now: session.transport.nowNanoseconds))
            if let answer = session.accountAnswer { receiver.answered(answer) }
        }
    }

    /// The owner is done with the account: it hears no more of it, and what it waits for ends. Calls end with
    /// `operationCancelled`, iterations of notifications with ``ServiceError/accountChanged``. Nothing of others. Any
    /// thread.
    nonisolated func release(_ owner: ObjectIdentifier) {
        onExecutor { session in
            session.accountReceivers[owner] = nil
            session.cancelCalls(of: owner)
            for (id, consumerOwner) in session.consumerOwners where consumerOwner == owner {
                session.consumerEnded(id, .accountChanged)
            }
            if session.accountReceivers.isEmpty {
                session.perform(session.machine.accountWatched(false, now: session.transport.nowNanoseconds))
            }
        }
    }

    func accountAnswered(_ answer: AccountAnswer) {
        accountAnswer = answer
        for receiver in accountReceivers.values { receiver.answered(answer) }
    }
}
