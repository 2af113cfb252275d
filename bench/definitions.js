// What every contestant offers, as plain data: the zod twins are in zod-tools.js, so that a server which needs no
// schema library does not pay for loading one.

export const serverInfo = { name: 'bench', version: '1.0.0' }

/** Tenon limits the calls of one caller. The load comes from one, so the limit is high, but the calls are counted. */
export const limits = { toolCalls: { perSecond: 10_000_000 } }

export const echoTool = {
  name: 'echo',
  description: 'Gives back the text it was given',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}

/** How many tools a server registers besides `echo`, which counts as one of the wanted number. */
export const extraTools = Number(process.env.BENCH_TOOLS ?? 1) - 1

/** Whether a server registers `form`, the tool with 30 fields. */
export const offersForm = process.env.BENCH_FORM === '1'

/** The names and descriptions of tool number `index` of the long list; its schema is the same for all. */
export function listedTool(index) {
  const subject = subjects[index % subjects.length]
  return {
    name: `search_${subject}_${index}`,
    description: `Searches the ${subject} of the current workspace and returns the best matches, newest first.`,
  }
}

const subjects = ['issues', 'files', 'people', 'invoices', 'messages', 'calendars', 'commits', 'articles']

export const searchSchema = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'Words to look for, in any order' },
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'The most results to return' },
    order: { type: 'string', enum: ['newest', 'oldest', 'relevance'], description: 'What comes first' },
    archived: { type: 'boolean', description: 'Whether archived entries are searched too' },
    labels: { type: 'array', items: { type: 'string' }, description: 'Only entries that carry all of these labels' },
  },
  required: ['query', 'limit'],
}

const group = [0, 1, 2, 3, 4]

/** Five times six fields: what a long form looks like. The first field carries the text that comes back. */
export const formSchema = {
  type: 'object',
  properties: Object.fromEntries(
    group.flatMap((n) => [
      [`text${n}`, { type: 'string' }],
      [`count${n}`, { type: 'integer' }],
      [`share${n}`, { type: 'number', minimum: 0, maximum: 1 }],
      [`agreed${n}`, { type: 'boolean' }],
      [`size${n}`, { type: 'string', enum: ['small', 'medium', 'large'] }],
      [`labels${n}`, { type: 'array', items: { type: 'string' } }],
    ]),
  ),
  required: group.flatMap((n) => [`text${n}`, `count${n}`, `share${n}`, `agreed${n}`, `size${n}`, `labels${n}`]),
}

export function formArguments(text) {
  return Object.fromEntries(
    group.flatMap((n) => [
      [`text${n}`, text],
      [`count${n}`, 40 + n],
      [`share${n}`, 0.25],
      [`agreed${n}`, n % 2 === 0],
      [`size${n}`, 'medium'],
      [`labels${n}`, ['red', 'green']],
    ]),
  )
}
