import {createHash} from 'node:crypto'
import {glob, readFile} from 'node:fs/promises'
import {basename} from 'node:path'
import {pathToFileURL} from 'node:url'

const FOLDER = new URL('migrations/', import.meta.url)

/**
 * How the text is executed, from a line at the head of the file. `-- concurrently`: one statement outside a transaction. `-- in pieces`: one
 * statement, repeated in separate transactions until it changes no row. Without such a line, the whole text is one transaction.
 */
type MigrationMode = 'at once' | 'concurrently' | 'in pieces'
/**
 * A migration file. `contract`: if the migration removes something, the reason why no running code reads it. `earlierSha256`: the digest of an
 * earlier text with the same effect, which some databases have applied.
 */
export type Migration = {
  name: string
  text: string
  sha256: string
  how: MigrationMode
  contract: string | null
  earlierSha256: string | null
}

export const readMigrations = async (folder?: string): Promise<Migration[]> => {
  const names = await listMigrations(folder)
  const base = folder ? pathToFileURL(`${folder}/`) : FOLDER
  return Promise.all(names.map(async name => readMigration(name, await readFile(new URL(`${name}.sql`, base), 'utf8'))))
}

export const listMigrations = async (folder?: string): Promise<string[]> => {
  const paths = await Array.fromAsync(glob('*.sql', {cwd: folder ?? FOLDER}))
  return paths.map(path => basename(path, '.sql')).sort()
}

export const readMigration = (name: string, text: string): Migration => {
  const [head] = /^(?:--.*\n|\s*\n)*/.exec(text)!
  const [, how] = /^-- (concurrently|in pieces)\b/m.exec(head) ?? []
  const [, contract] = /^-- contract: (\S.*)$/m.exec(head) ?? []
  const [, earlierSha256] = /^-- formerly: ([0-9a-f]{64})$/m.exec(head) ?? []
  const sha256 = createHash('sha256').update(text).digest('hex')
  return {
    name,
    text,
    sha256,
    how: (how as MigrationMode | undefined) ?? 'at once',
    contract: contract ?? null,
    earlierSha256: earlierSha256 ?? null,
  }
}
