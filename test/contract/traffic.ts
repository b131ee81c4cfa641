import {globSync} from 'node:fs'

/** The tests whose exchanges `npm run contract` checks. It runs them, and their CRM simulators record every exchange. */
const traffic = [
  'test/simulators/crm-*.test.ts',
  'test/shared/crm/{bulk-read,bulk-write,capabilities,coql,dead-token,deletes,doctor,find-created,metadata,record-calls,subforms}.test.ts',
  'test/api/{sign-in,connection,members,by-ids,records,visibility}.test.ts',
  'test/workers/{discovery,checks,doctor,doctor-writes,imports,match-snapshot,questions,record-claims,record-writes-crm}.test.ts',
  'test/workers/import-{lookups,nested,nested-held,nested-lost,parents,patches,protocol,refusals,unanswered-creates}.test.ts',
  'test/workers/import-{subforms,bulk,bulk-faults,types,wide,wire}.test.ts',
]

/** Lists the files of `traffic`. Throws if a name in braces has no file, so that a renamed test is noticed. */
export const listTraffic = (): string[] =>
  traffic.flatMap(expand).flatMap(pattern => {
    const files = globSync(pattern)
    if (files.length === 0) throw new Error(`No test file matches ${pattern}`)
    return files
  })

/** Expands the names in braces of a pattern. */
const expand = (pattern: string): string[] => {
  const [, before, names, after] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? []
  return names === undefined ? [pattern] : names.split(',').map(name => `${before}${name}${after}`)
}
