import BrumeKit
import Foundation
import Testing

@Suite("A location")
struct CLLocationTests {
    private func distance(_ a: (Double, Double), _ b: (Double, Double)) -> Double {
        CLLocation(latitude: a.0, longitude: a.1).distance(from: CLLocation(latitude: b.0, longitude: b.1))
    }

    // Published values: Vincenty's and Karney's examples, and the ellipsoid's own constants.
    @Test("is as far from another as the ellipsoid says, to the metre")
    func distances() {
        // Flinders Peak to Buninyong (Geocentric Datum of Australia Technical Manual).
        let flinders = (-(37 + 57 / 60.0 + 3.72030 / 3600), 144 + 25 / 60.0 + 29.52440 / 3600)
        let buninyong = (-(37 + 39 / 60.0 + 10.15610 / 3600), 143 + 55 / 60.0 + 35.38390 / 3600)
        #expect(abs(distance(flinders, buninyong) - 54_972.271) < 0.01)
        // A quarter of the meridian, and a degree of the equator.
        #expect(abs(distance((0, 0), (90, 0)) - 10_001_965.729) < 0.01)
        #expect(abs(distance((0, 0), (0, 1)) - 6_378_137 * Double.pi / 180) < 0.001)
    }

    @Test("is nearly antipodal to another and still measured to the metre")
    func antipodes() {
        // C. F. F. Karney, "Algorithms for geodesics", and pole to pole.
        #expect(abs(distance((0, 0), (0.5, 179.5)) - 19_936_288.579) < 0.01)
        #expect(abs(distance((0, 0), (0.5, 179.7)) - 19_944_127.421) < 0.01)
        #expect(abs(distance((0, 0), (0, 180)) - 20_003_931.459) < 0.01)
        #expect(abs(distance((90, 0), (-90, 0)) - 20_003_931.459) < 0.01)
        #expect(abs(distance((30, 10), (-30, -170)) - 20_003_931.459) < 0.01)
    }

    @Test("has a distance that is the same both ways, across the date line too, and none to itself")
    func symmetry() {
        #expect(distance((52.5, 13.4), (52.5, 13.4)) == 0)
        #expect(abs(distance((10, 179.5), (10, -179.5)) - distance((10, 0), (10, 1))) < 0.001)
        let pairs = [((48.85, 2.35), (-33.87, 151.21)), ((0.0, 0.0), (0.5, 179.7)), ((-80.0, 10.0), (80.0, -169.0))]
        for (a, b) in pairs {
            #expect(abs(distance(a, b) - distance(b, a)) < 0.01)
        }
        #expect(distance((91, 0), (0, 0)).isNaN)
    }

    @Test("has Core Location's defaults")
    func defaults() {
        let place = CLLocation(latitude: 1, longitude: 2)
        #expect(place.coordinate.latitude == 1 && place.coordinate.longitude == 2)
        #expect(place.altitude == 0 && place.horizontalAccuracy == 0 && place.verticalAccuracy == -1)
        #expect(place.course == -1 && place.speed == -1)
        #expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid))
        #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(-90, 180)))
        #expect(CLLocationCoordinate2D().latitude == 0)
    }

    @Test("is equal when all that is known is")
    func equality() {
        let now = Date()
        func place(altitude: Double) -> CLLocation {
            CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: altitude,
                horizontalAccuracy: 1, verticalAccuracy: 1, timestamp: now)
        }
        #expect(place(altitude: 1) == place(altitude: 1))
        #expect(place(altitude: 1).hash == place(altitude: 1).hash)
        #expect(place(altitude: 1) != place(altitude: 2))
        #expect(place(altitude: 1).copy() as? CLLocation == place(altitude: 1))
    }
}
