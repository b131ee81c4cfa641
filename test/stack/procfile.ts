import fs from 'node:fs'
import {openSupervisor, type ProcessLine, type Supervisor, type SupervisorOptions} from './supervisor.ts'

/** Reads lines of the form `name: command`. Ignores empty lines and lines that start with `#`. Throws on shell syntax. */
export const readProcfile = (text: string): ProcessLine[] =>
  text.split('\n').flatMap((line, index) => {
    if (/^\s*(#|$)/.test(line)) return []
    const [, name, command] = line.match(/^([\w-]+):\s*(\S.*?)\s*$/) ?? []
    if (!name || !command || /["'`$|&;<>()*?\\]/.test(command))
      throw new Error(`Procfile line ${index + 1} is not "name: program arguments": ${line}`)
    return [{name, command: command.split(/\s+/)}]
  })

/** `afterRelease` runs between the release and the start of the other lines. */
type ProcfileOptions = {path: string; afterRelease?: (() => Promise<void>) | undefined} & SupervisorOptions

/**
 * Runs `release` to its end, then starts every other line as a separate process, which restarts when it ends. If `release` fails, throws
 * with its output and stops everything.
 */
export const startProcfile = async ({path, afterRelease, ...options}: ProcfileOptions): Promise<Supervisor> => {
  const lines = readProcfile(fs.readFileSync(path, 'utf8'))
  const supervisor = openSupervisor(options)
  try {
    const release = lines.find(({name}) => name === 'release')
    if (release) await supervisor.complete(release)
    await afterRelease?.()
    for (const line of lines) if (line !== release) supervisor.start(line)
    return supervisor
  } catch (error) {
    await supervisor.stop()
    throw error
  }
}
