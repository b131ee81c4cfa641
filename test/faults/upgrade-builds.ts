import {execFile} from 'node:child_process'
import {cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {listMigrations} from '../../sql/migration-files.ts'
import type {StartedParts} from '../support/deployment.ts'

/** A complete source tree of the service in the directory `root`. */
export type Build = {name: string; root: string}
/** A replacement in a source file, or a new file. */
export type Edit = {file: string; from: string; to: string} | {file: string; text: string}

const here = fileURLToPath(new URL('../..', import.meta.url))
const isLeftOut = (name: string) => name.startsWith('.') || name === 'node_modules'
const run = promisify(execFile)

/** Copies the repository as it was before its newest migration. Returns the reason if the history does not reach so far or git fails. */
export const checkOutOld = async (begun: StartedParts): Promise<{build: Build; commit: string} | {build: null; why: string}> => {
  const newest = `sql/migrations/${(await listMigrations()).at(-1)}.sql`
  try {
    const added = await git('log', '--diff-filter=A', '-1', '--format=%H %P', '--', newest)
    // If the newest migration is not committed yet, HEAD is the build before it.
    const commit = added === '' ? 'HEAD' : added.split(' ')[1]
    if (!commit) return {build: null, why: `the commit that brought ${newest} has no parent here`}
    const root = await makeFolder(begun)
    await git('archive', '--format=tar', `--output=${join(root, 'old.tar')}`, commit)
    await run('tar', ['-xf', join(root, 'old.tar'), '-C', root])
    await symlink(join(here, 'node_modules'), join(root, 'node_modules'))
    return {build: {name: 'old', root}, commit: (await git('rev-parse', '--short', commit)).trim()}
  } catch (error) {
    return {build: null, why: String((error as {stderr?: string}).stderr || error).split('\n')[0]!}
  }
}

const git = async (...args: string[]) =>
  (await run('git', ['--no-optional-locks', ...args], {cwd: here, timeout: 20_000, maxBuffer: 1 << 20})).stdout.trim()

/**
 * Copies the current source or that of another build, and applies the edits. Throws if a text to replace does not occur exactly once in its
 * file.
 */
export const copyBuild = async (begun: StartedParts, name: string, from = here, edits: Edit[] = []): Promise<Build> => {
  const root = await makeFolder(begun)
  const parts = (await readdir(from)).filter(part => !isLeftOut(part))
  await Promise.all(parts.map(part => cp(join(from, part), join(root, part), {recursive: true})))
  await symlink(join(here, 'node_modules'), join(root, 'node_modules'))
  for (const edit of edits) await apply(root, edit)
  return {name, root}
}

const apply = async (root: string, edit: Edit) => {
  const path = join(root, edit.file)
  if ('text' in edit) {
    await mkdir(dirname(path), {recursive: true})
    return writeFile(path, edit.text)
  }
  const source = await readFile(path, 'utf8')
  const found = source.split(edit.from).length - 1
  if (found !== 1) throw new Error(`${edit.file} has ${found} times what the next build changes: ${edit.from}`)
  await writeFile(
    path,
    source.replace(edit.from, () => edit.to),
  )
}

const makeFolder = async (begun: StartedParts) => {
  const root = await mkdtemp(join(tmpdir(), 'lading-build-'))
  begun(() => rm(root, {recursive: true, force: true}))
  return root
}
