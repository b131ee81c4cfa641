import {uploadImport} from './bench-import.ts'
import {startDeployment} from './deployment.ts'
import {peakMemoryMbOf} from './process-use.ts'
import {fileOf} from './rows.ts'

const [longRows, wideRows, mostColumns] = [1_000_000, 400, 16_384] as const

/**
 * Measures the API's peak memory during one upload of a long file, and during one of a file with the most columns. Each upload has a separate
 * deployment.
 */
export const measureUploadMemory = async () => ({
  uploadMemoryMb1m: await measurePeakMb(fileOf(longRows, 'm ')),
  uploadMemoryMbWide: await measurePeakMb(wideFile()),
})

const measurePeakMb = async (csv: Buffer): Promise<number> => {
  const deployment = await startDeployment('upload_memory', {crm: ['test/bench/idle-crm.ts']})
  try {
    await uploadImport(deployment.places[0], csv)
    return peakMemoryMbOf(deployment.pidOf('web'))
  } finally {
    await deployment.stop()
  }
}

const wideFile = (): Buffer => {
  const lineOf = (cellOf: (column: number) => string) => Array.from({length: mostColumns}, (_, column) => cellOf(column)).join(',')
  const rows = Array.from({length: wideRows}, (_, row) => lineOf(column => `v${(row * column) % 1000}`))
  return Buffer.from([lineOf(column => `column ${column}`), ...rows].join('\n'))
}
