import {t} from '../text/runs.ts'

type FileNameInput = {
  importName: string
  kind: 'results' | 'failed' | 'plan' | 'verify'
  source?: string | undefined
}

const longest = 120

/** Names a downloaded file after its import: `Leads Lisbon fair - failed.csv`. `source` is set if the run read several files. */
export const nameFile = ({importName, kind, source}: FileNameInput): string => {
  const name = [importName, source].filter(Boolean).join(', ')
  return `${allowed(name).slice(0, longest).trim() || 'import'} - ${t.fileKinds[kind]}.csv`
}

/** Replaces the characters that file systems refuse. */
const allowed = (name: string) =>
  name
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
    .replaceAll(/[\u0000-\u001f<>:"/\\|?*]+/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[. ]+/, '')
