import Testing

@testable import BrumeTestKit

@Suite("The simulated network")
struct SimulatedNetworkTests {
    private final class Nobody: SimulatedConnection.Client {
        func connected(_ connection: SimulatedConnection) {}
        func received(_ bytes: [UInt8], _ connection: SimulatedConnection) {}
        func ended(_ connection: SimulatedConnection, reason: String) {}
    }

    @Test("a server's socket gives up a peer that is silent and takes nothing")
    func stall() {
        var options = SimulationOptions(seed: 1)
        (options.cutOneIn, options.blackHoleOneIn) = (.max, 1)
        let simulation = Simulation(options)
        let (server, client) = (SimulatedServer(simulation: simulation), Nobody())
        let connection = SimulatedConnection(simulation: simulation, number: 1, account: 0, client: client)
        let end = SimulatedServerEnd(connection, host: server, loop: 0)
        connection.server = end
        // More than may arrive before the silence, and more than an output holds that is not full.
        connection.sendDown([UInt8](repeating: 0, count: 40_000))
        simulation.scheduler.run(until: simulation.scheduler.nowNanoseconds + 25_000_000_000) { true }
        #expect(end.isOpen && end.isOutputFull)
        simulation.scheduler.run(until: simulation.scheduler.nowNanoseconds + 30_000_000_000) { true }
        #expect(!end.isOpen)
        withExtendedLifetime((simulation, server, client, connection)) {}
    }
}
