import {createHash} from 'node:crypto'
import {glob, readFile} from 'node:fs/promises'
import {basename} from 'node:path'
import {pathToFileURL} from 'node:url'

const FOLDER = new URL('migrations/', import.meta.url)

/**
 * How the text is run, by a line of its head: `-- concurrently` as one statement outside a transaction, `-- in pieces` as one statement again and
 * again, each time a transaction, until it changes no row; otherwise all of it in one transaction.
 */
export type How = 'at once' | 'concurrently' | 'in pieces'
/** `contract`: why no code that may still run reads what it takes away, where it is such a step. */
export type Migration = {name: string; text: string; sha256: string; how: How; contract: string | null}

/** In the order they are applied. */
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
  const sha256 = createHash('sha256').update(text).digest('hex')
  return {name, text, sha256, how: (how as How | undefined) ?? 'at once', contract: contract ?? null}
}
