internal import BrumeModel
internal import BrumeWire
internal import Foundation
internal import Synchronization

/// What a container and its databases share: the configuration, and the session that the first call opens.
final class ContainerCore: Sendable {
    let configuration: BrumeConfiguration
    private let transport: Result<any ClientTransport, TransportFailure>
    private let registry: SessionRegistry
    private let session = Mutex<ClientSession?>(nil)

    init(
        configuration: BrumeConfiguration, transport: Result<any ClientTransport, TransportFailure>,
        registry: SessionRegistry
    ) {
        self.configuration = configuration
        self.transport = transport
        self.registry = registry
    }

    /// The session of the configuration, which reads the device's id at the first call.
    ///
    /// - Throws: `internalError` with a sentence that says what to set.
    func openSession() throws(CKError) -> ClientSession {
        if let session = session.withLock({ $0 }) { return session }
        let opened: ClientSession
        do throws(ConfigurationProblem) {
            let key = try configuration.sessionKey()
            switch transport {
            case .success(let transport): opened = registry.session(key, transport: transport)
            case .failure(let failure):
                throw ConfigurationProblem(ServiceError(failure, server: key.endpoint.name).message)
            }
        } catch {
            throw CKError(.internalError, message: error.message)
        }
        return session.withLock { session in
            // Another call may have been first; the registry gave both the same.
            session = session ?? opened
            return session!
        }
    }

    /// What kept the container from its server may be over: the session, if there is one, tries again at once.
    func circumstancesChanged() {
        session.withLock { $0 }?.circumstancesChanged()
    }

    /// Sends a request and decodes its answer, both on the calling thread.
    func call<Response>(
        _ method: Method, effect: UnaryCall.Effect = .none,
        encode: (MessageCoder) -> [UInt8],
        decode: (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Response
    ) async throws(CKError) -> Response {
        let session = try openSession()
        let requestID = UUID().uuidString
        let call = UnaryCall(
            method: method, payload: CoderPool.with { encode($0) }, effect: effect, requestID: requestID)
        do throws(ServiceError) {
            let payload = try await session.unary(
                call, timeoutNanoseconds: ClientSession.defaultTimeoutNanoseconds)
            return try CoderPool.with { (coder) throws(ServiceError) in
                try payload.decoded { (bytes) throws(ServiceError) in try decode(coder, bytes) }
            }
        } catch {
            throw CKError(error, requestID: requestID)
        }
    }

    /// 16 bytes that name an operation, so that it has one effect however often it is sent.
    static func newOperationID() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
