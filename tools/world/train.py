# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains the world's models while processes draw its samples.

It needs torch, onnx, numpy and OpenCV; tools/ has to be on Python's path.
"""
import multiprocessing
import os
import time

import torch
from torch.nn import functional as F

from . import augment, export, losses, plates, pool, resume, samples
from .actors import VEHICLES
from .net import Classifier, Detector, Reader
from .palette import COLOURS
from .trainer import Pool, Trainer

FILL = 40           # steps between two looks for new samples
DRAWN = 4           # plates drawn on the device for each of the samples
MANY_CORES = 8      # with so many, each trainer has a core of its own
TASKS = {"street": ("detect", "segment", "pose"), "crossing": ("obb",)}    # of the exports


def start(args):
    """Choose the device, which processes must not have used before they fork; seed it."""
    args.device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    torch.manual_seed(args.seed)


def fitting(net, path):
    """Load the weights of a file that have the shapes of a net's."""
    old, own = load(path), net.state_dict()
    same = {name: part for name, part in old.items()
            if name in own and own[name].shape == part.shape}
    net.load_state_dict(same, strict=False)
    print(path.name, "has", len(same), "of", len(own), "weights", flush=True)


def earlier(args, name):
    """Return the files of an earlier training of a detector: its .pt file, or its exports; none if
    there are none. Raise ValueError if some exports are missing.
    """
    path = args.weights / f"{args.prefix}{name}.pt"
    if path.exists():
        return [path]
    paths = [path.with_name(path.stem + export.SUFFIX[task] + ".onnx") for task in TASKS[name]]
    missing = [str(each) for each in paths if not each.exists()]
    if missing and len(missing) < len(paths):
        raise ValueError(f"{', '.join(missing)}: not found; all exports of a network are needed")
    return [] if missing else paths


def continue_from(paths, net, image):
    """Give a detector the weights of files; image: a batch."""
    if paths[0].suffix == ".pt":
        fitting(net, paths[0])
        return
    resume.load(net, paths)
    resume.settle(net, image)
    print("weights of", *(path.name for path in paths), flush=True)


def detector_step(net, batch):
    """Return a detector's loss for samples as they were drawn, and its parts."""
    with torch.autocast(batch["image"].device.type, enabled=False):
        varied = augment.vary(batch)
    made = net(varied["image"])
    with torch.autocast(batch["image"].device.type, enabled=False):
        return losses.detector_loss(made, varied, net)


def train_detector(store, args, deadline, name):
    """Train a detector on a store's samples until a time, and write it."""
    net = networks()[name][0]
    start(args)
    data, half = Pool(store, args.device), True
    data.wait(min(store.count, args.batch * 5), deadline)
    if args.weights and earlier(args, name):
        continue_from(earlier(args, name), net.to(args.device),
                      augment.vary(data.take(args.batch))["image"])
    trainer = Trainer(net, detector_step, args, deadline, name)
    print(name, "parameters", sum(p.numel() for p in net.parameters()), flush=True)
    while time.monotonic() < deadline:
        if trainer.steps % FILL == 0:
            data.fill()
        trainer.step(data.take(args.batch))
        if half and trainer.part() > 0.7:    # a result, should the end not be reached
            torch.save(trainer.result().state_dict(), args.out / f"{args.prefix}{name}.pt")
            half = False
    print(name, "samples", len(data.order), "steps", trainer.steps, flush=True)
    write(trainer.result(), args, name)


def networks():
    """Return the networks by name, with their exports: a function, and the names of parts."""
    detectors = export.write_detectors
    return {"street": (Detector(len(samples.NAMES), ("seg", "pose")), detectors,
                       (TASKS["street"],)),
            "crossing": (Detector(len(samples.CLASSES), ("obb",)), detectors,
                         (TASKS["crossing"],)),
            "plates": (Reader(), export.write_reader, ()),
            "vehicles": (Classifier(len(COLOURS), len(VEHICLES)), export.write_classifier, ())}


def load(path):
    """Return the weights in a file."""
    return torch.load(path, map_location="cpu", weights_only=True)


def write(net, args, name):
    """Write a network's weights, and its exports."""
    torch.save(net.state_dict(), args.out / f"{args.prefix}{name}.pt")
    _, how, parts = networks()[name]
    how(net, args.out, args.prefix + name, *parts)
    print(name, "written", flush=True)


def export_only(args):
    """Write the exports of weights that were trained before. Raise ValueError if there are none."""
    if not any(args.weights.glob(args.prefix + "*.pt")):
        raise ValueError(f"{args.weights} has no {args.prefix}*.pt; without --seconds 0, training "
                         "begins with exports")
    for name, (net, _, _) in networks().items():
        path = args.weights / f"{args.prefix}{name}.pt"
        if path.exists():
            net.load_state_dict(load(path))
            write(net.eval(), args, name)


def train_street(store, args, deadline):
    """Train and export the detector of the street with masks and keypoints."""
    train_detector(store, args, deadline, "street")


def train_crossing(store, args, deadline):
    """Train and export the detector of oriented boxes."""
    train_detector(store, args, deadline, "crossing")


def train_plates(stores, args, deadline):
    """Train and export the reader of plates, most of which are drawn on the device."""
    start(args)
    data, bank = Pool(stores[0], args.device), plates.letters(args.device)
    data.wait(min(data.store.count, args.batch), deadline)
    reader = Trainer(networks()["plates"][0], plate_step, args, deadline, "plates")
    while time.monotonic() < deadline:
        if reader.steps % FILL == 0:
            data.fill()
        batch = data.take(args.batch)
        drawn = [plates.plates(bank, args.batch) for _ in range(DRAWN)]
        parts = [part for part, _ in drawn] + [batch["image"].permute(0, 3, 1, 2).float() / 255]
        text = torch.cat([part for _, part in drawn] + [batch["text"].long()])
        reader.step({"image": augment.lit(augment.moved(torch.cat(parts), 0.05)), "text": text})
    print("plates", len(data.order), "steps", reader.steps, flush=True)
    write(reader.result(), args, "plates")


def train_vehicles(stores, args, deadline):
    """Train and export the classifiers of vehicles."""
    start(args)
    data = Pool(stores[1], args.device)
    data.wait(min(data.store.count, args.batch * 4), deadline)
    kinds = Trainer(networks()["vehicles"][0], label_step, args, deadline, "vehicles")
    while time.monotonic() < deadline:
        if kinds.steps % FILL == 0:
            data.fill()
        kinds.step(data.take(args.batch * 4))
    print("vehicles", len(data.order), "steps", kinds.steps, flush=True)
    write(kinds.result(), args, "vehicles")


def plate_step(net, batch):
    """Return the CTC loss of a batch of plates."""
    logs = net(batch["image"]).float().log_softmax(2).transpose(0, 1)
    wanted, (places, count) = batch["text"] + 1, logs.shape[:2]
    lengths = [torch.full((count,), size) for size in (places, wanted.shape[1])]
    loss = F.ctc_loss(logs, wanted, *lengths, zero_infinity=True)
    return loss, {"loss": loss}


def label_step(net, batch):
    """Return the loss of colours and types, and the parts that are right."""
    made = net(augment.as_input(batch["image"]))
    return label_loss(made, batch["label"].long())


def label_loss(scores, labels):
    """Return the loss of colours and types, and the parts that are right."""
    loss = sum(F.cross_entropy(part.float(), labels[:, i], label_smoothing=0.02)
               for i, part in enumerate(scores))
    right = [(part.argmax(1) == labels[:, i]).float().mean() for i, part in enumerate(scores)]
    return loss, {"loss": loss, "colour": right[0], "type": right[1]}


def plan(args):
    """Return what draws samples, with the number of processes, and what trains: its function, its
    stores, and its part of the time."""
    only, workers = args.only.split(","), max(3, args.workers)
    street, crossing = pool.detector_store(args.frames), pool.detector_store(args.frames // 3)
    crops = pool.crop_stores(args.frames)
    few = {"crossing": max(1, workers // 5) if "crossing" in only else 0,
           "crops": 1 if {"plates", "vehicles"} & set(only) else 0}
    draws = [((street, 1000 + args.seed, samples.street_samples), workers - sum(few.values())),
             ((crossing, 2_000_000 + args.seed, samples.crossing_samples), few["crossing"]),
             ((crops, 3_000_000 + args.seed, None), few["crops"])]
    trains = [("street", train_street, street, 1.0), ("crossing", train_crossing, crossing, 0.75),
              ("plates", train_plates, crops, 0.5), ("vehicles", train_vehicles, crops, 0.3)]
    return draws, [each for each in trains if each[0] in only]


def on_cores(first, after, how, *args):
    """Run a function on some of the cores."""
    if (os.cpu_count() or 1) >= MANY_CORES:
        os.sched_setaffinity(0, range(first, min(after, os.cpu_count())))
        torch.set_num_threads(1)
    how(*args)


def run(args):
    """Draw and train until the time is over; or, in no time, only export weights."""
    if args.weights and not args.seconds:
        return export_only(args)
    for name in TASKS:
        if args.weights and name in args.only.split(",") and not earlier(args, name):
            print(args.weights, "has no weights of", name + "; it begins with random ones")
    begin, fork = time.monotonic(), multiprocessing.get_context("fork")
    draws, trains = plan(args)
    processes = []
    for task, count in draws:
        for worker in range(count):
            processes.append(fork.Process(
                target=on_cores, daemon=True,
                args=(len(trains), 1000, pool.work, task, worker, count,
                      begin + args.seconds * 0.9)))
    for place, (_, how, stores, part) in enumerate(trains):
        processes.append(fork.Process(target=on_cores,
                                      args=(place, place + 1, how, stores, args,
                                            begin + args.seconds * part)))
    for process in processes:
        process.start()
    trainers = processes[-len(trains):]
    while any(each.is_alive() for each in trainers) and not any(each.exitcode for each in trainers):
        time.sleep(0.5)
    for process in processes:
        process.terminate()
    print(f"done in {time.monotonic() - begin:.0f} s", flush=True)
    return max(abs(process.exitcode or 0) for process in trainers)
