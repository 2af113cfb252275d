'use strict'
module.exports = require('@tenon/compat-v2/express')
