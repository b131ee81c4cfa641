import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {parse} from 'yaml'
import {readProcfile} from '../stack/procfile.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const readText = (path: string) => readFileSync(`${root}/${path}`, 'utf8')
export const readYaml = (path: string) => parse(readText(path), {merge: true})
export const processes = readProcfile(readText('Procfile'))

/** Returns the variables of `.env.example`, or of a text like it. A variable behind `# ` is only an example. */
export const readVariables = (text: string) => {
  const set = new Map<string, string>()
  const examples: string[] = []
  for (const line of text.split('\n')) {
    const [, mark, name, value = ''] = /^(# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line) ?? []
    if (!name) continue
    if (mark) examples.push(name)
    else set.set(name, value)
  }
  return {set, examples}
}
