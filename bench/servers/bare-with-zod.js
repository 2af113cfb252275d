// The yardstick plus the time it takes to load zod: what a cold start costs before any SDK is involved.
import 'zod'
import './bare.js'
