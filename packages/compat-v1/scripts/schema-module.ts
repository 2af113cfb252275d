import { type Leaf, type Nouns, parseType, splitDoc, type TypeNode } from './schema-language.ts'
import { allFields, docComment, schemaName } from './type-module.ts'

/**
 * The zod schemas of all nouns, as the text of a module.
 *
 * @param checks The functions of `schema-checks.ts` that the schemas use.
 */
export function schemaModule(nouns: Nouns, checks: string): string {
  const imports = `import * as z from 'zod/v4'\nimport { ${checks} } from '../shared/schema-checks.ts'\n\n`
  return imports + new SchemaModule(nouns).text()
}

/** A schema and its type. The type is written out, because the inferred declarations would repeat every nested schema. */
interface Emitted {
  code: string
  type: string
}

const leaves: Record<Leaf, Emitted> = {
  string: { code: 'z.string()', type: 'z.ZodString' },
  number: { code: 'z.number()', type: 'z.ZodNumber' },
  integer: { code: 'z.number().int()', type: 'z.ZodNumber' },
  natural: { code: 'z.number().int().nonnegative()', type: 'z.ZodNumber' },
  fraction: { code: 'z.number().min(0).max(1)', type: 'z.ZodNumber' },
  boolean: { code: 'z.boolean()', type: 'z.ZodBoolean' },
  null: { code: 'z.null()', type: 'z.ZodNull' },
  unknown: { code: 'z.unknown()', type: 'z.ZodUnknown' },
  object: { code: 'z.custom<object>(isObject)', type: 'z.ZodCustom<object, object>' },
  base64: { code: "z.string().refine(isBase64, { message: 'Invalid Base64 string' })", type: 'z.ZodString' },
  datetime: { code: 'z.iso.datetime({ offset: true })', type: 'z.ZodISODateTime' },
  url: { code: 'z.string().url()', type: 'z.ZodString' },
  any: { code: 'z.any()', type: 'z.ZodAny' },
  numeric: { code: 'z.coerce.number()', type: 'z.coerce.ZodCoercedNumber<unknown>' },
  'file-url': { code: "z.string().startsWith('file://')", type: 'z.ZodString' },
}

const leafNames: Partial<Record<Leaf, string>> = { object: 'anyObject', null: 'nothing', 'file-url': 'fileUrl' }

/** Writes the schemas in the order of the nouns, each shared schema before its first use. */
class SchemaModule {
  readonly #nouns: Nouns
  readonly #lines: string[] = []
  /** Small schemas that several nouns use are built once: building them is what importing the module costs. */
  readonly #shared = new Map<string, string>()

  constructor(nouns: Nouns) {
    this.#nouns = nouns
  }

  text(): string {
    for (const [name, noun] of Object.entries(this.#nouns)) {
      const schema = schemaName(name, this.#nouns)
      const exported = noun.exports === 'type' || noun.exports === 'none' ? '' : 'export '
      const { code, type } = noun.aliasOf ? this.#alias(noun.aliasOf) : this.#emit(noun.type)
      this.#lines.push(`${docComment(noun)}${exported}const ${schema}: ${type} = ${code}\n`)
    }
    return this.#lines.join('\n')
  }

  #alias(name: string): Emitted {
    const schema = schemaName(name, this.#nouns)
    return { code: schema, type: `typeof ${schema}` }
  }

  #emit(node: TypeNode): Emitted {
    switch (node.kind) {
      case 'leaf':
        return this.#share(leafNames[node.leaf] ?? node.leaf, leaves[node.leaf])
      case 'literals':
        return literals(node.values)
      case 'noun':
        return this.#alias(node.name)
      case 'array':
        return this.#array(node)
      case 'map':
        return this.#map(node)
      case 'union':
        return this.#union(node)
      case 'object':
        return this.#object(node)
      case 'default': {
        const { code, type } = this.#emit(node.of)
        return { code: `${code}.default(${node.value})`, type: `z.ZodDefault<${type}>` }
      }
      case 'code':
        return { code: node.code.schema, type: node.code.schemaType }
    }
  }

  #array({ items, max }: TypeNode & { kind: 'array' }): Emitted {
    const { code, type } = this.#emit(items)
    const array = { code: `z.array(${code})${max === undefined ? '' : `.max(${max})`}`, type: `z.ZodArray<${type}>` }
    return items.kind === 'leaf' && max === undefined ? this.#share(`${code}List`, array) : array
  }

  #map({ values }: TypeNode & { kind: 'map' }): Emitted {
    const key = this.#emit({ kind: 'leaf', leaf: 'string' })
    const { code, type } = this.#emit(values)
    const map = { code: `z.record(${key.code}, ${code})`, type: `z.ZodRecord<z.ZodString, ${type}>` }
    return values.kind === 'leaf' ? this.#share(`${code}Map`, map) : map
  }

  #union({ members, discriminator }: TypeNode & { kind: 'union' }): Emitted {
    const emitted = members.map((member) => this.#emit(member))
    const codes = emitted.map(({ code }) => code).join(', ')
    const types = emitted.map(({ type }) => type).join(', ')
    return discriminator
      ? {
          code: `z.discriminatedUnion('${discriminator}', [${codes}])`,
          // `zod/v4` of zod 3.25 has no second type parameter for the discriminator.
          type: `z.ZodDiscriminatedUnion<[${types}]>`,
        }
      : { code: `z.union([${codes}])`, type: `z.ZodUnion<readonly [${types}]>` }
  }

  #object(node: TypeNode & { kind: 'object' }): Emitted {
    const constructors = { strip: 'object', loose: 'looseObject', strict: 'strictObject' }
    const fields = Object.entries(allFields(node, this.#nouns)).map(([key, value]) => ({
      name: `'${key.replace('?', '')}'`,
      ...this.#field(typeof value === 'string' ? parseType(splitDoc(value).expression) : value, key.endsWith('?')),
    }))
    const inherited = node.bases.map((base) => `...${schemaName(base, this.#nouns)}.shape`)
    const own = fields.slice(fields.length - Object.keys(node.fields).length)
    const shape = [...inherited, ...own.map(({ name, code }) => `${name}: ${code}`)].join(', ')
    const types = fields.map(({ name, type }) => `${name}: ${type}`).join('; ')
    return {
      code: `z.${constructors[node.unknownKeys]}({ ${shape} })`,
      type: `z.ZodObject<${types ? `{ ${types} }` : 'Record<never, never>'}, z.core.$${node.unknownKeys}>`,
    }
  }

  #field(node: TypeNode, optional: boolean): Emitted {
    const schema = this.#emit(node)
    if (!optional) return schema
    const whole = { code: `${schema.code}.optional()`, type: `z.ZodOptional<${schema.type}>` }
    if (!/^\w+$/.test(schema.code)) return whole
    return this.#share(`optional${schema.code[0]?.toUpperCase()}${schema.code.slice(1).replace(/Schema$/, '')}`, whole)
  }

  #share(name: string, { code, type }: Emitted): Emitted {
    if (!this.#shared.has(name)) {
      this.#shared.set(name, code)
      this.#lines.push(`const ${name}: ${type} = ${code}\n`)
    } else if (this.#shared.get(name) !== code) {
      throw new Error(`Two schemas share the name "${name}".`)
    }
    return { code: name, type }
  }
}

function literals(values: string[]): Emitted {
  const quoted = values.map((value) => `'${value}'`)
  return values.length === 1
    ? { code: `z.literal(${quoted[0]})`, type: `z.ZodLiteral<${quoted[0]}>` }
    : {
        code: `z.enum([${quoted.join(', ')}])`,
        type: `z.ZodEnum<{ ${quoted.map((value) => `${value}: ${value}`).join('; ')} }>`,
      }
}
