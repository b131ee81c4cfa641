import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {cp, mkdtemp, readdir, readFile, rm, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {text} from 'node:stream/consumers'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Whether a file or directory is left out of the copy: hidden ones and `node_modules`. */
const isLeftOut = (name: string) => name.startsWith('.') || name === 'node_modules'

/** A text in a source file, and its replacement. */
export type Change = {file: string; from: string; to: string}

/**
 * Runs scenario R1 of `npm run faults` and returns its counts. With changes, the scenario runs in a copy of the source with these changes.
 * Throws if a text to replace does not occur exactly once in its file. Needs `DATABASE_URL`.
 */
export const countFaultsOf = async (changes: Change[], asked: string[]): Promise<Record<string, number>> => {
  if (!changes.length) return countIn(root, asked)
  const directory = await mkdtemp(join(tmpdir(), 'lading-mutant-'))
  try {
    const parts = (await readdir(root)).filter(name => !isLeftOut(name))
    await Promise.all(parts.map(part => cp(join(root, part), join(directory, part), {recursive: true})))
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
    for (const change of changes) await apply(directory, change)
    return await countIn(directory, asked)
  } finally {
    await rm(directory, {recursive: true})
  }
}

const countIn = async (directory: string, asked: string[]): Promise<Record<string, number>> => {
  const child = spawn(process.execPath, ['test/faults/faults.ts', '--only', 'R1', '--json', ...asked], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (!said.startsWith('{')) throw new Error(`The seeds did not come to their end: ${errors}`)
  const {rows, ...sums} = JSON.parse(said)
  return {...sums, ...rows[0].did, ...rows[0].figures}
}

const apply = async (directory: string, change: Change) => {
  const path = join(directory, change.file)
  await writeFile(path, changeText(await readFile(path, 'utf8'), change))
}

/** Returns the source with the change. Throws if the text to replace does not occur exactly once. */
export const changeText = (source: string, {file, from, to}: Change): string => {
  const found = source.split(from).length - 1
  if (found !== 1) throw new Error(`${file} has ${found} times what the mutant changes: ${from}`)
  return source.replace(from, () => to)
}
