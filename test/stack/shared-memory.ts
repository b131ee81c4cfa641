import fs from 'node:fs'

const folder = '/dev/shm'
const gibibyte = 1024 ** 3

/**
 * Where files live in memory, null where there is too little of it: the tests' databases of a moment and their log come to a gibibyte or two, and
 * a container's share is often 64 MB.
 */
export const roomInMemory = (): string | null => {
  try {
    const {bavail, bsize} = fs.statfsSync(folder)
    return bavail * bsize > 4 * gibibyte && process.availableMemory() > 8 * gibibyte ? folder : null
  } catch {
    return null
  }
}
