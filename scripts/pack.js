// Packs every published package and prints the paths of the tarballs, so that a project can install from a clone:
//   npm install $(npm --prefix ../tenon run -s pack)
import { packPackages } from './packages.js'

// create-tenon is a program that creates projects, not a dependency of one.
for (const { name, path } of packPackages()) if (name !== 'create-tenon') console.log(path)
