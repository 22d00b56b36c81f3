package import BrumeModel
internal import BrumeSystem
internal import Glibc

/// Runs a load and measures it.
package struct LoadRun: Sendable {
    package let configuration: LoadConfiguration

    /// Why a load could not run, as a whole sentence.
    package struct Problem: Error, Sendable {
        package enum Cause: Sendable {
            /// The server refused the connection's account or a request.
            case service(ErrorCode)
            /// No connection could be made, or it was lost.
            case connection
            /// The TLS handshake failed, most likely because the server's certificate isn't trusted.
            case handshake
            /// This process or its files: the CA's certificate, a descriptor that it may not have.
            case local
        }

        package let message: String
        package let cause: Cause
    }

    package init(_ configuration: LoadConfiguration) {
        precondition(
            configuration.connections > 0 && !configuration.tokens.isEmpty, "a load has connections and an account")
        self.configuration = configuration
    }

    /// Prepares, warms up, and works for the time that the configuration gives.
    ///
    /// - Parameters:
    ///   - progress: Called with each sample.
    ///   - prepared: Called when the load begins.
    /// - Throws: ``Problem`` when a connection, or what it needs, can't be made; failures of operations are counted
    ///   instead.
    package func run(
        prepared: () -> Void = {}, progress: (LoadReport.Sample) -> Void = { _ in }
    ) async throws -> LoadReport {
        let board = DeliveryBoard()
        var threads: [LoadThread] = []
        do {
            for index in 0..<min(configuration.threads, configuration.connections) {
                var configuration = configuration
                configuration.threads = min(configuration.threads, configuration.connections)
                threads.append(try LoadThread(index: index, configuration: configuration, board: board))
            }
        } catch let error as TLSError {
            throw Problem(
                message: "\(error.message); --ca (BRUME_CA) names the CA certificate's PEM file", cause: .local)
        } catch {
            throw Problem(message: "the load's loops can't be made: \(error)", cause: .local)
        }
        let all = threads
        for thread in threads {
            thread.publishEnded = { index in
                let target = all[index]
                target.loop.execute { (target.driver as? FanOutDriver)?.publishNext() }
            }
            thread.loop.start()
        }
        defer {
            for thread in threads {
                thread.loop.execute { thread.publishEnded = nil }
                thread.loop.stop()
                thread.loop.join()
            }
        }
        let residentBefore = server?.residentBytes
        for thread in threads { try await prepare(thread) }
        prepared()
        return await measure(threads, residentBefore: residentBefore, progress)
    }

    private var server: ProcessFigures? { configuration.serverPID.flatMap(ProcessFigures.read) }

    private func prepare(_ thread: LoadThread) async throws {
        let failure = await withCheckedContinuation { continuation in
            thread.prepare { continuation.resume(returning: $0) }
        }
        if let failure { throw Problem(message: "the load can't begin: \(failure.text)", cause: failure.cause) }
    }

    // MARK: Measuring

    private func measure(
        _ threads: [LoadThread], residentBefore: UInt64?, _ progress: (LoadReport.Sample) -> Void
    ) async -> LoadReport {
        let residentPrepared = server?.residentBytes
        let warmsUp = configuration.warmUpSeconds > 0
        // `idle` measures the connecting; afterwards it does nothing.
        let isMeasuredAlready = configuration.scenario == .idle
        let began = MonotonicClock.nowNanoseconds
        for thread in threads {
            thread.loop.execute {
                if !warmsUp, !isMeasuredAlready { thread.recorder.begin(at: began) }
                thread.driver.begin()
            }
        }
        let pacer = configuration.rate.map { rate in
            let count = threads[0].configuration.issuingThreads
            return LoadPacer(rate: rate) { number, intended in
                let thread = threads[number % count]
                thread.loop.execute { thread.driver.issue(intended: intended) }
            }
        }
        pacer?.start()
        var started = began
        if warmsUp {
            await sleep(configuration.warmUpSeconds)
            let now = MonotonicClock.nowNanoseconds
            started = now
            if !isMeasuredAlready {
                for thread in threads { thread.loop.execute { thread.recorder.begin(at: now) } }
            }
        }
        let before = (server: server, client: ProcessFigures.read(pid: getpid()))
        var last = (time: started, server: before.server)
        var samples: [LoadReport.Sample] = []
        let deadline = started + UInt64(configuration.seconds * 1e9)
        while MonotonicClock.nowNanoseconds < deadline {
            let left = Double(deadline - min(deadline, MonotonicClock.nowNanoseconds)) / 1e9
            await sleep(min(configuration.sampleSeconds, left))
            let now = (time: MonotonicClock.nowNanoseconds, server: server)
            var figures = LoadFigures()
            for thread in threads { figures.merge(await ask(thread) { $0.recorder.takeSample() }) }
            let seconds = Double(now.time - last.time) / 1e9
            let cpu = usage(last.server, now.server).map { Double($0.cpuNanoseconds) / seconds / 1e7 }
            let sample = LoadReport.Sample(
                second: Double(now.time - started) / 1e9, seconds: seconds, figures: figures, serverCPUPercent: cpu,
                serverResidentBytes: now.server?.residentBytes)
            // The rest after a slightly late end is not a sample of its own.
            if seconds > configuration.sampleSeconds / 4 || samples.isEmpty { samples.append(sample) }
            progress(sample)
            last = now
        }
        let seconds = Double(MonotonicClock.nowNanoseconds - started) / 1e9
        let after = (server: server, client: ProcessFigures.read(pid: getpid()))
        pacer?.stop()
        let unfinished = await drain(threads)
        var figures = LoadFigures()
        for thread in threads { figures.merge(await ask(thread) { $0.recorder.total }) }
        for thread in threads { _ = await ask(thread) { $0.closeClients() } }
        var perConnection: Double?
        if configuration.scenario == .idle, let residentBefore, let residentPrepared {
            perConnection = (Double(residentPrepared) - Double(residentBefore)) / Double(configuration.connections)
        }
        return LoadReport(
            scenario: configuration.scenario, seconds: seconds, warmUpSeconds: configuration.warmUpSeconds,
            connections: configuration.connections,
            accounts: min(configuration.tokens.count, configuration.connections),
            rate: configuration.rate, figures: figures, samples: samples, unfinished: unfinished,
            bytesPerConnection: perConnection, server: usage(before.server, after.server),
            client: usage(before.client, after.client))
    }

    /// Stops the drivers and waits for operations in flight; returns how many did not end.
    private func drain(_ threads: [LoadThread]) async -> Int {
        for thread in threads { _ = await ask(thread) { $0.driver.stop() } }
        let deadline = MonotonicClock.nowNanoseconds + LoadLimits.drainNanoseconds
        while true {
            var underWay = 0
            for thread in threads { underWay += await ask(thread) { $0.driver.underWay } }
            if underWay == 0 || MonotonicClock.nowNanoseconds >= deadline { return underWay }
            await sleep(0.01)
        }
    }

    private func ask<Answer: Sendable>(
        _ thread: LoadThread, _ question: @escaping @Sendable (LoadThread) -> Answer
    ) async -> Answer {
        await withCheckedContinuation { continuation in
            thread.loop.execute { continuation.resume(returning: question(thread)) }
        }
    }

    private func sleep(_ seconds: Double) async {
        try? await Task.sleep(nanoseconds: UInt64(max(0, seconds) * 1e9))
    }

    private func usage(_ before: ProcessFigures?, _ after: ProcessFigures?) -> LoadReport.Usage? {
        guard let before, let after, after.cpuNanoseconds >= before.cpuNanoseconds else { return nil }
        return LoadReport.Usage(
            cpuNanoseconds: after.cpuNanoseconds - before.cpuNanoseconds, residentBytes: after.residentBytes)
    }
}
