'use strict'
module.exports = require('@tenon/compat-v2/validators/cf-worker')
