// The features of every contestant as plain data. The zod versions are in zod-tools.js, so that a server that needs no
// schema library does not load one.

export const serverInfo = { name: 'bench', version: '1.0.0' }

/** Tenon limits the calls of one caller. All load comes from one caller, so the limit is raised, not disabled. */
export const limits = { toolCalls: { perSecond: 10_000_000 } }

export const echoTool = {
  name: 'echo',
  description: 'Gives back the text it was given',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}

/** Number of tools that a server registers besides `echo`, which is included in the requested number. */
export const extraTools = Number(process.env.BENCH_TOOLS ?? 1) - 1

/** Whether a server registers `form`, the tool with 30 fields. */
export const offersForm = process.env.BENCH_FORM === '1'

/** Name and description of tool number `index` of the long list; all tools have the same schema. */
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

/** A long form of five times six fields. The first field carries the text that is echoed. */
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
