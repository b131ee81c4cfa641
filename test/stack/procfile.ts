import fs from 'node:fs'
import {openSupervisor, type ProcessLine, type Supervisor, type SupervisorOptions} from './supervisor.ts'

/** `name: command` per line; empty lines and those that start with `#` say nothing. Throws on what only a shell would understand. */
export const readProcfile = (text: string): ProcessLine[] =>
  text.split('\n').flatMap((line, index) => {
    if (/^\s*(#|$)/.test(line)) return []
    const [, name, command] = line.match(/^([\w-]+):\s*(\S.*?)\s*$/) ?? []
    if (!name || !command || /["'`$|&;<>()*?\\]/.test(command))
      throw new Error(`Procfile line ${index + 1} is not "name: program arguments": ${line}`)
    return [{name, command: command.split(/\s+/)}]
  })

type ProcfileOptions = {path: string} & SupervisorOptions

/**
 * Runs `release` to its end, then every other line as a process of its own, each replaced when it dies.
 * Throws with what `release` said when it fails; then nothing is left running.
 */
export const startProcfile = async ({path, ...options}: ProcfileOptions): Promise<Supervisor> => {
  const lines = readProcfile(fs.readFileSync(path, 'utf8'))
  const supervisor = openSupervisor(options)
  try {
    const release = lines.find(({name}) => name === 'release')
    if (release) await supervisor.complete(release)
    for (const line of lines) if (line !== release) supervisor.start(line)
    return supervisor
  } catch (error) {
    await supervisor.stop()
    throw error
  }
}
