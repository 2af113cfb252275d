import { isObject } from '../../util/objects.ts'
import type { Definitions } from '../definitions.ts'
import type { Finding } from './finding.ts'
import { toExcerpt } from './visible.ts'

/** Finds parameters for data with which others can take the money of the user. No tool needs it through a model. */
export function checkProperties({ tools }: Definitions): Finding[] {
  return tools
    .flatMap(({ name, inputSchema }) => {
      const properties = isObject(inputSchema) && isObject(inputSchema.properties) ? inputSchema.properties : {}
      const asked = Object.keys(properties).filter((property) => isPaymentData(property.replace(/[_\-\s]/g, '')))
      return asked.map((property): Finding => {
        const message = 'The tool asks for a seed phrase, a card number or the like.'
        const where = `tool ${toExcerpt(name, 80)}, inputSchema`
        return { rule: 'credentials', severity: 'high', where, message, excerpt: toExcerpt(property, 80) }
      })
    })
    .slice(0, maxFindings)
}

const maxFindings = 20

/** @param name Without spaces and separators. */
export function isPaymentData(name: string): boolean {
  return sensitive.test(name)
}

const sensitive =
  /^(?:(?:wallet)?(?:seed|mnemonic|(?:secret)?recovery|backup)(?:phrase|words)|mnemonic|(?:card)?cv[vc]2?|cardsecuritycode|cc(?:number|num)|(?:credit|bank|debit)card|(?:credit|debit|full)?cardnumber|ssn|socialsecurity(?:number)?|bankingpin)$/i
