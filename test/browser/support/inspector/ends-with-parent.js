// Loaded with `--import` into programs of the tests, so that an interrupted run leaves none of them behind.
import { endWithParent } from '../../../../packages/sdk/test/kit/end-with-parent.js'

endWithParent()
