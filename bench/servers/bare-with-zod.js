// The baseline plus the time to load zod: the cost of a cold start before any SDK is involved.
import 'zod'
import './bare.js'
