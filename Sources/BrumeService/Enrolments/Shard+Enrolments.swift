internal import BrumeModel
internal import BrumeSystem

/// Messages of enrolments, from one device of an account to another.
extension Shard {
    /// Answers a request for the enrolments of a client of this loop. A client with an account is on the loop of its
    /// private database, so that all devices of an account meet here.
    ///
    /// It reads and writes no data: it needs no database in memory, makes none, waits for no disk, also for one that is
    /// full, and counts into no quota.
    func relay(_ request: EnrolmentRequest, to responder: Responder) {
        let identity = responder.client.identity
        let database: DatabaseID
        switch Authorisation.database(for: .private, of: identity) {
        case .success(let own): database = own
        case .failure(let error): return responder.finish(.failure(error))
        }
        let caller = EnrolmentTable.Caller(
            account: responder.client.share.key, database: database, tokenHash: identity.tokenHash)
        let now = loop.nowNanoseconds / 1_000_000
        do throws(ServiceError) {
            switch request {
            case .post(let request):
                try enrolments.post(request, by: caller, nowMilliseconds: now)
                responder.finish(.success(.enrolmentPosted))
            case .fetch(let id):
                responder.finish(.success(.enrolments(enrolments.fetch(id, by: caller, nowMilliseconds: now))))
            case .end(let request):
                enrolments.end(request, by: caller, nowMilliseconds: now)
                responder.finish(.success(.enrolmentEnded))
            }
        } catch {
            responder.finish(.failure(error))
        }
    }
}
